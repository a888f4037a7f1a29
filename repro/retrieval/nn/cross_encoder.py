"""Fine-tuning of a cross-encoder: one score for a query and a passage read together."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from repro.errors import UsageError, check_known
from repro.retrieval.nn.batches import in_buckets
from repro.retrieval.nn.checkpoint import load, save_model
from repro.retrieval.nn.contrastive import divergence, listwise
from repro.retrieval.nn.text import passage_text
from repro.retrieval.nn.tokens import TokenRows, paired_rows

REGULARISERS = ("r-drop", "none")


def load_cross_encoder(folder: Path):
    """A transformers model for sequence classification with one label, in float32.

    Its head is that of the architecture: pooler, dropout and a linear layer for BERT; dropout, a dense layer,
    gelu, dropout and a linear layer over [CLS] for ELECTRA. What of it the checkpoint lacks is drawn from
    torch's global generator: seed it before.

    Raises:
        DataError: the directory is not a model.
    """
    from transformers import AutoModelForSequenceClassification

    return load(AutoModelForSequenceClassification, folder, num_labels=1, dtype="float32")


def pair_inputs(
    tokenizer, queries: list[str], passages: list[dict], *, length: int, separator: str
) -> dict[str, torch.Tensor]:
    """Queries and passages ``{"title", "text"}`` as pairs of segments; N of each to (N, L) arrays."""
    return pair_tokens(tokenizer, queries, passages, length=length, separator=separator).inputs()


def pair_tokens(
    tokenizer, queries: list[str], passages: list[dict], *, length: int, separator: str
) -> TokenRows:
    """The tokens of each pair as ``pair_inputs`` has them, without padding."""
    texts = [passage_text(passage["title"], passage["text"], separator=separator) for passage in passages]
    return paired_rows(tokenizer, queries, texts, length=length)


class CrossEncoder(nn.Module):
    """A positive scored above its query's negatives, among the hardest of them (Wang et al. 2023, Eq. 4).

        L = 1/Q sum_i -log( exp theta(q_i, d_i+) / sum_{d in K_i} exp theta(q_i, d) )

    K_i is the positive and those negatives that the model itself, without dropout and gradient, scores
    highest now: ``trained_passages`` of the P given (reading ``reranker-group``). With ``r-drop`` (reading
    ``reranker-regulariser``; Liang et al. 2021) the K_i are read twice, with other dropout (once, if there is
    none: the second reading would be the first), and

        L = (L_1 + L_2) / 2 + 1/Q sum_i ( KL(p_i1 || p_i2) + KL(p_i2 || p_i1) ) / 2

    Args:
        model: of ``load_cross_encoder``.
        tokenizer: its tokenizer.
        trained_passages: as above; all where there are no more.
        regulariser: ``r-drop`` or ``none``.
        passage_length: tokens of query and passage together, with [CLS] and both [SEP].
        separator: between title and text; query and passage are a pair of segments.
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
        check_known("regulariser", regulariser, valid=REGULARISERS)
        if trained_passages < 2:
            raise UsageError(f"{trained_passages} passages leave the positive no negative; give 2 or more")
        self.model, self.tokenizer = model, tokenizer
        self.trained_passages, self.regulariser = trained_passages, regulariser
        self.passage_length, self.separator = passage_length, separator

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Examples ``{"query", "passages": [{"title", "text"}, …]}``, the positive first, as (Q, P, L)."""
        per_query = len(examples[0]["passages"])
        queries = [example["query"] for example in examples for _ in range(per_query)]
        passages = [passage for example in examples for passage in example["passages"]]
        inputs = pair_inputs(
            self.tokenizer, queries, passages, length=self.passage_length, separator=self.separator
        )
        return {name: value.unflatten(0, (len(examples), per_query)) for name, value in inputs.items()}

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The losses ``listwise`` and, in training with it, ``r_drop``."""
        if self.trained_passages < batch["input_ids"].shape[1]:
            with torch.no_grad(), _evaluation_mode(self.model):
                places = hardest(self._scores(batch), count=self.trained_passages)  # (Q, K)
            rows = torch.arange(len(places), device=places.device).unsqueeze(1)  # (Q, 1)
            batch = {name: value[rows, places] for name, value in batch.items()}  # (Q, K, L)
        if not self._reads_twice():
            return {"listwise": listwise(self._scores(batch))}
        scores = self._scores({name: torch.cat((value, value)) for name, value in batch.items()})  # (2Q, K)
        first, second = scores.chunk(2)
        return {
            "listwise": listwise(scores),
            "r_drop": (divergence(first, second) + divergence(second, first)) / 2,
        }

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int]:
        """The queries that each loss is a mean over."""
        names = ("listwise", "r_drop") if self._reads_twice() else ("listwise",)
        return dict.fromkeys(names, len(batch["input_ids"]))

    def save(self, folder: Path) -> None:
        """A model for sequence classification, and its tokenizer."""
        save_model(self.model, self.tokenizer, folder)

    def _reads_twice(self) -> bool:
        return self.regulariser == "r-drop" and self.training and _drops_out(self.model)

    def _scores(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        shape = batch["input_ids"].shape[:2]
        flat = {name: value.flatten(0, 1) for name, value in batch.items()}
        scores = in_buckets(lambda inputs: self.model(**inputs).logits, flat).view(shape)  # (Q, P)
        return scores.to(torch.promote_types(scores.dtype, torch.float32))


def hardest(scores: torch.Tensor, *, count: int) -> torch.Tensor:
    """Places of the positive, first, and of the ``count`` - 1 negatives with the highest scores.

    Args:
        scores: (Q, P), the positive's first.

    Returns:
        (Q, K) int64.
    """
    negatives = scores[:, 1:].topk(count - 1, dim=1).indices + 1  # (Q, K - 1)
    return torch.cat((torch.zeros_like(negatives[:, :1]), negatives), dim=1)


def _drops_out(model: nn.Module) -> bool:
    """Whether two readings of one text can differ at all."""
    return any(isinstance(layer, nn.Dropout) and layer.p > 0 for layer in model.modules())


@contextlib.contextmanager
def _evaluation_mode(model: nn.Module) -> Iterator[None]:
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
