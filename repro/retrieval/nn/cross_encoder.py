"""A cross-encoder, which scores a query and a passage read together."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from datasets import load_from_disk
from torch import Tensor, nn

from repro.errors import StageError, UsageError
from repro.machine.shard import blocks
from repro.retrieval.nn import contrastive, text, tokens
from repro.retrieval.nn.batches import HalvingEncoder, in_background
from repro.retrieval.nn.checkpoint import check_fits, load, load_tokenizer, save_model
from repro.retrieval.nn.padding_free import packs, padding_free
from repro.retrieval.nn.precision import (
    Tensors,
    autocast,
    check_precision,
    device,
    mapped,
    on_device,
    ready_for_device,
    threads_for,
)
from repro.store.disk import intact, write_note

BLOCK = 20_000  # pairs sorted by length together
BATCH = {"cpu": 32, "cuda": 256}
TOGETHER = 8  # batches tokenised in one call
AHEAD = 2
Batches = list[Tensors]


def load_cross_encoder(folder: Path):
    """Return a sequence classifier with one label, in float32. Raises DataError.

    Missing weights are drawn from torch's global generator.
    """
    from transformers import AutoModelForSequenceClassification

    return load(AutoModelForSequenceClassification, folder, num_labels=1, dtype="float32")


def pair_tokens(
    tokenizer, queries: list[str], passages: list[dict], *, length: int, separator: str
) -> tokens.TokenRows:
    """Return the tokens of N queries, each with its passage ``{"title", "text"}``."""
    texts = [
        text.passage_text(passage["title"], passage["text"], separator=separator) for passage in passages
    ]
    return tokens.paired_rows(tokenizer, queries, texts, length=length)


class CrossEncoder(nn.Module):
    """Listwise loss of a positive against its query's hardest negatives (Wang et al. 2023, Eq. 4).

        L = 1/Q sum_i -log( exp theta(q_i, d_i+) / sum_{d in K_i} exp theta(q_i, d) )

    K_i is the positive and the negatives with the highest scores: ``trained_passages`` of the P given
    (reading ``reranker-group``). With ``r-drop`` (reading ``reranker-regulariser``, Liang et al. 2021) a
    model with dropout reads the K_i twice, and

        L = (L_1 + L_2) / 2 + 1/Q sum_i ( KL(p_i1 || p_i2) + KL(p_i2 || p_i1) ) / 2
    """

    name = "cross-encoder"
    version = 2
    load = staticmethod(load_cross_encoder)

    def __init__(
        self,
        model: nn.Module,
        tokenizer,
        *,
        trained_passages: int,
        regulariser: str,
        passage_length: int,
        separator: str,
    ):
        super().__init__()
        if trained_passages < 2:
            raise UsageError(f"trained_passages is {trained_passages}, and has to be at least 2")
        self.model, self.tokenizer = model, tokenizer
        self.trained_passages, self.regulariser = trained_passages, regulariser
        self.passage_length, self.separator = passage_length, separator

    def collate(self, examples: list[dict]) -> Tensors:
        """Return arrays (Q, P, L) of examples ``{"query", "passages": [{"title", "text"}, …]}``."""
        per_query = len(examples[0]["passages"])
        queries = [example["query"] for example in examples for _ in range(per_query)]
        passages = [passage for example in examples for passage in example["passages"]]
        inputs = pair_tokens(
            self.tokenizer, queries, passages, length=self.passage_length, separator=self.separator
        ).inputs()
        return {name: value.unflatten(0, (len(examples), per_query)) for name, value in inputs.items()}

    def forward(self, batch: Tensors) -> Tensors:
        if self.trained_passages < batch["input_ids"].shape[1]:
            with torch.no_grad(), _evaluation_mode(self.model):
                places = hardest(self._scores(batch), count=self.trained_passages)
            rows = torch.arange(len(places), device=places.device).unsqueeze(1)
            batch = {name: value[rows, places] for name, value in batch.items()}  # (Q, K, L)
        if not self._reads_twice():
            return {"listwise": contrastive.listwise(self._scores(batch))}
        scores = self._scores({name: torch.cat((value, value)) for name, value in batch.items()})  # (2Q, K)
        first, second = scores.chunk(2)
        return {
            "listwise": contrastive.listwise(scores),
            "r_drop": (contrastive.divergence(first, second) + contrastive.divergence(second, first)) / 2,
        }

    def denominators(self, batch: Tensors) -> dict[str, int]:
        names = ("listwise", "r_drop") if self._reads_twice() else ("listwise",)
        return dict.fromkeys(names, len(batch["input_ids"]))

    def save(self, folder: Path) -> None:
        save_model(self.model, self.tokenizer, folder)

    def _reads_twice(self) -> bool:
        drops_out = any(isinstance(layer, nn.Dropout) and layer.p > 0 for layer in self.model.modules())
        return self.regulariser == "r-drop" and self.training and drops_out

    def _scores(self, batch: Tensors) -> Tensor:
        shape = batch["input_ids"].shape[:2]
        flat = {name: mapped(lambda rows: rows.flatten(0, 1), value) for name, value in batch.items()}
        scores = self.model(**flat).logits.view(shape)
        return scores.to(torch.promote_types(scores.dtype, torch.float32))


def hardest(scores: Tensor, *, count: int) -> Tensor:
    """Return (Q, ``count``) indices into rows of (Q, P): 0 (the positive) and the top-scoring negatives."""
    negatives = scores[:, 1:].topk(count - 1, dim=1).indices + 1
    return torch.cat((torch.zeros_like(negatives[:, :1]), negatives), dim=1)


@contextlib.contextmanager
def _evaluation_mode(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


class PairScorer:
    """A cross-encoder for re-ranking, read from ``folder``.

    Raises DataError, UsageError for a wrong length, or BlockedError for half precision without a GPU. ``say``
    gets the reason if REPRO_PADDING_FREE is 1 but pairs need padding.
    """

    def __init__(
        self, folder: Path, *, length: int, separator: str, precision: str, say: Callable[[str], None] = print
    ):
        self.precision, self.length, self.separator = check_precision(precision), length, separator
        self.model, self.tokenizer = load_cross_encoder(folder), load_tokenizer(folder)
        check_fits(self.model, self.tokenizer, length)
        self.model.eval().to(device())
        self.packed = packs(self.model, precision=precision, say=say)
        self.halved = HalvingEncoder(lambda inputs: self.model(**on_device(inputs)).logits.float().squeeze(1))

    def facts(self) -> dict[str, int]:
        return ({"padding_free": 1} if self.packed else {}) | self.halved.facts()

    def prepared(self, queries: list[str], passages: list[dict]) -> Iterator[tuple[list[int], Batches]]:
        """Yield (indices of pairs, their batches) for groups of the pairs, the longest passages first."""
        order = sorted(range(len(queries)), key=lambda n: len(passages[n]["text"]), reverse=True)
        batch = BATCH[device().type]
        for start in range(0, len(order), TOGETHER * batch):
            places = order[start : start + TOGETHER * batch]
            rows = pair_tokens(
                self.tokenizer,
                [queries[n] for n in places],
                [passages[n] for n in places],
                length=self.length,
                separator=self.separator,
            )
            firsts = range(0, len(places), batch)
            yield places, [ready_for_device(rows.inputs(slice(n, n + batch))) for n in firsts]

    def score(self, batches: Batches) -> np.ndarray:
        """Return the scores of n pairs, (n,) float32. Raises StageError if one is not finite."""
        context = padding_free(self.model, self.packed)
        with threads_for(self.model), torch.inference_mode(), autocast(self.precision), context:
            logits = [self.halved(batch) for batch in batches]
        scores = torch.cat(logits).cpu().numpy()
        if not np.isfinite(scores).all():
            raise StageError("the re-ranker's score of a pair is not finite")
        return scores


class PairTexts:
    """Texts of N pairs, by indices ``query`` into ``queries`` and ``row`` into a corpus, (N,) each.

    A slice gives queries and passages ``{"title", "text"}``.
    """

    def __init__(self, queries: list[str], corpus: Path, *, query: np.ndarray, row: np.ndarray):
        self.corpus = load_from_disk(str(corpus / "arrow")).select_columns(["title", "text"])
        self.queries, self.query, self.row = queries, query, row

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, block: slice) -> tuple[list[str], list[dict]]:
        rows, places = np.unique(self.row[block], return_inverse=True)
        texts = self.corpus[rows]
        passages = [{"title": a, "text": b} for a, b in zip(texts["title"], texts["text"], strict=True)]
        return [self.queries[n] for n in self.query[block]], [passages[n] for n in places]


def score_pairs(
    pairs: PairTexts,
    scorer: PairScorer,
    *,
    decimals: int | None,
    scratch: Path,
    advance: Callable[[int], None],
) -> np.ndarray:
    """Return the score of every pair, (N,): float32, or float64 rounded to ``decimals``.

    Finished blocks are kept in ``scratch``. A shard scores only its own blocks and leaves 0 elsewhere.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    scores, unread = np.zeros(len(pairs), np.float32), []
    for first in blocks(len(pairs), BLOCK):
        block = scores[first : first + BLOCK]
        if intact(scratch / f"{first}.json") is None:
            unread.append(first)
        else:
            block[:] = np.load(scratch / f"{first}.npy")
            advance(len(block))
    with in_background(_pieces(pairs, scorer, unread), ahead=AHEAD) as pieces:
        for first, places, batches, is_last in pieces:
            block = scores[first : first + BLOCK]
            block[places] = scorer.score(batches)
            if is_last:
                np.save(scratch / f"{first}.npy", block)
                write_note(scratch / f"{first}.json", [scratch / f"{first}.npy"])
            advance(len(places))
    return scores if decimals is None else np.round(scores.astype(np.float64), decimals)


def _pieces(
    pairs: PairTexts, scorer: PairScorer, firsts: list[int]
) -> Iterator[tuple[int, list[int], Batches, bool]]:
    for first in firsts:
        queries, passages = pairs[slice(first, first + BLOCK)]
        count = 0
        for places, batches in scorer.prepared(queries, passages):
            count += len(places)
            yield first, places, batches, count == len(queries)
