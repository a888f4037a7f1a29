"""The speed of fine-tuning a bi-encoder and a re-ranker on a GPU, beside sentence-transformers and HF.

Every tool tokenises, encodes and takes the gradient of the same queries with the same passages, whose lengths
are as in MS MARCO; no optimiser's step is among it. ``cached`` is with gradient caching. Of a batch that does
not fit, half is taken, and so on: the column of queries says how many were left.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import torch
from gpu_models import (
    DEVICE,
    backward,
    bi_encoder,
    has_flash,
    precision,
    queries_with_passages,
    save_encoder,
    sentence_transformer,
    tokens_of,
)
from gpu_rates import HALF, fits, largest_that_runs, measured, parts, rate, seconds, weights
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertModel

from repro.retrieval.nn.checkpoint import load_tokenizer
from repro.retrieval.nn.cross_encoder import CrossEncoder, load_cross_encoder
from repro.retrieval.nn.padding_free import padding_free

LENGTHS = {"query": 32, "passage": 144, "pair": 192}
MAKES = "sentence-transformers"
Step = Callable[[list[dict]], object]


def peer(way: str, start: Path) -> str:
    """sentence-transformers' row for a saved model, which says how it attends."""
    module = sentence_transformer(start)[0]
    flattened = getattr(module, "can_flatten_inputs", False)  # which versions before 6.2 do not tell
    attention = "flash attention" if has_flash() else "sdpa: flash-attn is not installed"
    return f"{MAKES}, {way}, {attention}{', flattened' * flattened}"


def row(
    step: Step, examples: list[dict], collate: Callable, weights: int, *, rounds: int, **more: object
) -> dict:
    """The rate of a step, with as many of the examples, queries with their passages, as it runs with."""
    passages = len(examples[0]["passages"])

    def timed(queries: int) -> float:
        return seconds(lambda: step(examples[:queries]), rounds=rounds)

    queries, taken = largest_that_runs(timed, len(examples))
    tokens = tokens_of(collate(examples[:queries]))
    shape = {"texts a step": f"{queries} queries x {passages}"}
    return rate(tokens, 6 * weights * tokens, taken, **shape, **more)


class Fine:
    """The works of fine-tuning over some queries, each a function of examples.

    Args:
        folder: for models.
        chosen: sizes; a part of a cached batch is a quarter of its queries.
    """

    def __init__(self, folder: Path, chosen: Namespace):
        self.folder, self.chosen, self.numbers = folder, chosen, count()
        objective, self.examples = bi_encoder(folder / "first", chosen, passages=chosen.passages)
        self.start, self.weights = folder / "first" / "start", weights(objective)
        self.collate = objective.collate

    def ours(self, *, cached: bool, free: bool) -> Step:
        objective, _ = bi_encoder(self.folder / str(next(self.numbers)), self.chosen, passages=1)

        def step(examples: list[dict]) -> None:
            size = max(1, len(examples) // 4) if cached else len(examples)
            pieces = [objective.collate(some) for some in parts(examples, size)]
            with padding_free(objective, free):
                backward(objective, pieces, name=HALF)

        return step

    def theirs(self, kind: str, **options: int) -> Step:
        """A loss of sentence-transformers, which has a column of texts for each place among the passages."""
        from sentence_transformers.sentence_transformer import losses
        from sentence_transformers.util import batch_to_device

        model = sentence_transformer(self.start)
        forward = model.forward

        def in_precision(*given, **options):
            with precision(HALF):
                return forward(*given, **options)

        model.forward = in_precision  # as accelerate does it: a cached gradient encodes again behind the loss
        loss = getattr(losses, kind)(model, **options)

        def step(examples: list[dict]) -> None:
            columns = [[e["query"] for e in examples]]
            columns += [[e["passages"][k]["text"] for e in examples] for k in range(self.chosen.passages)]
            model.train().zero_grad()
            features = [batch_to_device(model.preprocess(column), DEVICE) for column in columns]
            loss(features, torch.empty(0)).backward()

        return step

    def tevatron(self) -> Step:
        """Tevatron's way, written anew: one padded batch of each side, all passages are everybody's."""
        model, tokenizer = BertModel.from_pretrained(self.start).to(DEVICE).train(), self.tokenizer()

        def encoded(texts: list[str], length: int) -> torch.Tensor:
            how = {"truncation": True, "max_length": length, "padding": True, "pad_to_multiple_of": 16}
            inputs = tokenizer(texts, **how, return_tensors="pt").to(DEVICE)
            return model(**inputs).last_hidden_state[:, 0]

        def step(examples: list[dict]) -> None:
            model.zero_grad()
            with precision(HALF):
                queries = encoded([e["query"] for e in examples], LENGTHS["query"])
                passages = encoded([p["text"] for e in examples for p in e["passages"]], LENGTHS["passage"])
                scores = queries @ passages.T
            target = torch.arange(len(queries), device=DEVICE) * self.chosen.passages
            torch.nn.functional.cross_entropy(scores.float(), target).backward()

        return step

    def tokenizer(self):
        return AutoTokenizer.from_pretrained(self.start)

    def row(self, step: Step, **more: object) -> dict:
        return row(step, self.examples, self.collate, self.weights, rounds=self.chosen.rounds, **more)


def cached(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The gradient cached, in four parts, beside sentence-transformers with its two sizes of parts.

    It cuts each column, the queries or the passages of one place, by itself: into four parts as well.
    """
    fine = Fine(folder, chosen)
    size = max(1, chosen.queries // 4)
    kind = "CachedMultipleNegativesRankingLoss"
    budget = round(size * tokens_of(fine.collate(fine.examples)) / (chosen.queries * (1 + chosen.passages)))

    def theirs(told: str, **sizes: int) -> dict:
        return fine.row(fine.theirs(kind, mini_batch_size=size, **sizes), remark=f"in parts of {told}")

    tools = {
        "ours": lambda: fine.row(fine.ours(cached=True, free=False)),
        "ours, without padding": lambda: fine.row(fine.ours(cached=True, free=True)),
        peer("mini_batch_size", fine.start): lambda: theirs(f"{size} of a column's texts"),
        peer("mini_batch_num_tokens", fine.start): lambda: theirs(
            f"{budget:,} tokens of a column", mini_batch_num_tokens=budget
        ),
    }
    yield from measured("fine-tuning, gradient cached", tools, chosen)


def whole(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The batch at once, beside sentence-transformers and Tevatron's way."""
    fine = Fine(folder, chosen)
    tools = {
        "ours": lambda: fine.row(fine.ours(cached=False, free=False)),
        "ours, without padding": lambda: fine.row(fine.ours(cached=False, free=True)),
        "Tevatron's way, padded": lambda: fine.row(fine.tevatron()),
        peer("whole", fine.start): lambda: fine.row(fine.theirs("MultipleNegativesRankingLoss")),
    }
    yield from measured("fine-tuning, whole batch", tools, chosen)


def fine_tuning_fits(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The most queries, a power of two, whose whole batch fits at once."""
    limit = max(1, chosen.most // chosen.passages)
    fine = Fine(folder, Namespace(**vars(chosen) | {"queries": limit}))
    label = f"queries x {chosen.passages} of {LENGTHS['passage']}, half full"
    tools = {
        "ours": lambda: fits(fine.ours(cached=False, free=False), fine.examples, label),
        "ours, without padding": lambda: fits(fine.ours(cached=False, free=True), fine.examples, label),
        "Tevatron's way, padded": lambda: fits(fine.tevatron(), fine.examples, label),
    }
    yield from measured("fine-tuning, whole batch", tools, chosen)


class Ranked:
    """The works of a re-ranker's training: ours, and transformers' model with the same loss."""

    def __init__(self, folder: Path, chosen: Namespace):
        self.chosen, self.start = chosen, save_encoder(folder / "start", chosen)
        self.tokenizer, self.numbers = load_tokenizer(self.start), count()
        self.examples = queries_with_passages(chosen, passages=chosen.passages)

    def objective(self) -> CrossEncoder:
        how = {"trained_passages": self.chosen.passages, "regulariser": "none", "separator": " "}
        model = load_cross_encoder(self.start)
        return CrossEncoder(model, self.tokenizer, **how, passage_length=LENGTHS["pair"])

    def ours(self, *, free: bool) -> Step:
        objective = self.objective()

        def step(examples: list[dict]) -> None:
            with padding_free(objective, free):
                backward(objective, [objective.collate(examples)], name=HALF)

        return step

    def theirs(self) -> Step:
        how = {"num_labels": 1, "attn_implementation": "sdpa"}
        model = AutoModelForSequenceClassification.from_pretrained(self.start, **how).to(DEVICE).train()

        def step(examples: list[dict]) -> None:
            pairs = [(e["query"], passage["text"]) for e in examples for passage in e["passages"]]
            how = {"truncation": True, "max_length": LENGTHS["pair"], "padding": True}
            inputs = self.tokenizer(*map(list, zip(*pairs, strict=True)), **how, return_tensors="pt")
            model.zero_grad()
            with precision(HALF):
                scores = model(**inputs.to(DEVICE)).logits.view(-1, self.chosen.passages)
            target = torch.zeros(len(scores), dtype=torch.long, device=DEVICE)
            torch.nn.functional.cross_entropy(scores.float(), target).backward()

        return step

    def row(self, step: Step) -> dict:
        objective = self.objective()
        given = (self.examples, objective.collate, weights(objective))
        return row(step, *given, rounds=self.chosen.rounds)


def re_ranker(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """A step of the re-ranker's training over queries with their passages."""
    ranked = Ranked(folder, chosen)
    tools = {
        "ours": lambda: ranked.row(ranked.ours(free=False)),
        "ours, without padding": lambda: ranked.row(ranked.ours(free=True)),
        "transformers, sdpa, padded": lambda: ranked.row(ranked.theirs()),
    }
    yield from measured("re-ranker, training", tools, chosen)


def re_ranker_fits(folder: Path, chosen: Namespace) -> Iterator[dict]:
    """The most queries, a power of two, whose passages a re-ranker trains on at once."""
    limit = max(1, chosen.most // chosen.passages)
    ranked = Ranked(folder, Namespace(**vars(chosen) | {"queries": limit}))
    label = f"queries x {chosen.passages} of {LENGTHS['pair']}"
    tools = {
        "ours": lambda: fits(ranked.ours(free=False), ranked.examples, label),
        "ours, without padding": lambda: fits(ranked.ours(free=True), ranked.examples, label),
        "transformers, sdpa, padded": lambda: fits(ranked.theirs(), ranked.examples, label),
    }
    yield from measured("re-ranker, training", tools, chosen)


RATES = {"other fine-tuning cached": cached}
RATES |= {"other fine-tuning whole": whole, "other re-ranker": re_ranker}
FITS = {"fits fine-tuning": fine_tuning_fits, "fits re-ranker": re_ranker_fits}
