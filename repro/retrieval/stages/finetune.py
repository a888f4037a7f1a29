"""Stage ``finetune``: a model trained on judged queries with negatives."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from repro.errors import DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets import arrow
from repro.retrieval.stages.pretrain import trained
from repro.retrieval.training.declaration import Optimisation

SCORES = ("positive_scores", "negative_scores")


class Groups:
    """Queries of a training set, each with one positive and some negatives, chosen again every epoch.

    ``negative_choice`` ``window`` is the rule ``next_window``, ``slice`` is ``next_slice``.
    ``positive_choice`` is ``all`` in turn, or only ``confident`` ones, which needs scores. ``left_out``
    counts queries without a positive or a needed negative.
    """

    def __init__(
        self,
        training_set: Path,
        corpus: Path,
        queries: Path,
        *,
        passages: int,
        seed: int,
        negative_choice: str = "window",
        positive_choice: str = "all",
    ):
        rows = arrow.read_rows(training_set).data
        texts = arrow.read_rows(corpus)
        self.titles, self.texts = (arrow.ColumnTexts(texts, name) for name in ("title", "text"))
        self.positives = _as_rows(rows.column("positives"), corpus, training_set)
        self.negatives = _as_rows(rows.column("negatives"), corpus, training_set)
        self.scores = _scores(rows, training_set)
        if positive_choice == "confident" and self.scores is None:
            raise UsageError(f"{training_set}: its passages have no scores to choose confident positives by")
        self.queries = arrow.query_texts(queries, rows.column("query").to_pylist(), source=training_set)
        self.passages, self.seed = passages, seed
        self.negative_choice, self.positive_choice = negative_choice, positive_choice
        mask = self.positives.lengths() > 0
        if passages > 1:
            mask &= self.negatives.lengths() > 0
        self.kept = mask.nonzero()[0]
        self.left_out = len(self.queries) - len(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def __getitems__(self, places: list[tuple[int, int]]) -> list[dict]:
        """Return ``{"query": str, "passages": [{"title", "text"}, …], "epoch", "index"}`` per (epoch, place).

        The positive is the first passage. A training set with scores adds the passages' ``"scores"``.
        """
        examples = []
        for epoch, place in places:
            index = int(self.kept[place])
            positive, *negatives = self._choose(index, epoch)
            rows = [int(self.positives[index][positive]), *self.negatives[index][negatives].tolist()]
            passages = [{"title": self.titles[row], "text": self.texts[row]} for row in rows]
            example = {"query": self.queries[index], "passages": passages, "epoch": epoch, "index": index}
            if self.scores is not None:
                positive_scores, negative_scores = (scores[index] for scores in self.scores)
                example["scores"] = [float(positive_scores[positive]), *negative_scores[negatives].tolist()]
            examples.append(example)
        return examples

    def _choose(self, index: int, epoch: int) -> list[int]:
        positives: Sequence[int] = range(len(self.positives[index]))
        if self.positive_choice == "confident" and self.scores is not None:
            positives = confident(*(scores[index].tolist() for scores in self.scores))
        negatives = range(len(self.negatives[index]))
        turn = {"passages": self.passages, "seed": self.seed, "epoch": epoch}
        if self.negative_choice == "slice":
            return next_slice(positives, negatives, **turn)
        return next_window(positives, negatives, index=index, **turn)


def _as_rows(lists, corpus: Path, training_set: Path) -> arrow.Lists:
    documents = pc.list_flatten(lists)
    return arrow.Lists(arrow.document_rows(documents, corpus, source=training_set), arrow.list_offsets(lists))


def _scores(rows, training_set: Path) -> tuple[arrow.Lists, arrow.Lists] | None:
    if not set(SCORES) <= set(rows.column_names):
        return None
    columns = [rows.column(name) for name in SCORES]
    if any(column.null_count for column in columns):
        raise DataError(f"{training_set}: some of its rows have scores and some have none")
    positives, negatives = (
        arrow.Lists(pc.list_flatten(c).to_numpy(), arrow.list_offsets(c)) for c in columns
    )
    return positives, negatives


def run(params: dict, inputs: dict[str, Path], out: Path, progress: Progress) -> dict:
    """Train ``params["objective"]`` on groups of passages and save it in ``model/``.

    A batch is ``queries_per_batch`` queries with ``passages_per_query`` passages each, over all devices. The
    objective may take any of ``params``, ``start`` (the starting model's folder) and ``warmup_steps``.
    """
    optimisation = Optimisation.of(params, batch_size=params["queries_per_batch"])
    choices = {name: params[name] for name in ("negative_choice", "positive_choice") if name in params}
    groups = Groups(
        *(inputs[name] for name in ("training_set", "corpus", "queries")),
        passages=params["passages_per_query"],
        seed=params["seed"],
        **choices,
    )
    if len(groups) == 0:
        raise DataError(f"{inputs['training_set']}: no query has both a positive and a negative")
    facts = trained(groups, optimisation, params, inputs["model"] / "model", out, progress)
    return facts | {"queries_left_out": groups.left_out}


def next_window(
    positives: Sequence[int], negatives: Sequence[int], *, passages: int, seed: int, index: int, epoch: int
) -> list[int]:
    """Return one positive and ``passages`` - 1 negatives, with another window of negatives every epoch.

    As in Tevatron's tevatron/data.py, negatives are shuffled once, and the window moves by its own length
    every epoch and wraps around. The positive moves by one from a random start. If negatives are too few,
    they are drawn with replacement. The random seed is (seed, index), for such draws (seed, index, epoch).
    """
    count, available = passages - 1, len(negatives)
    generator = np.random.default_rng((seed, index))
    positive = positives[(int(generator.integers(2**31)) + epoch) % len(positives)]
    if count == 0:
        return [positive]
    if available < count:
        draws = np.random.default_rng((seed, index, epoch)).integers(available, size=count)
        return [positive, *(negatives[place] for place in draws)]
    order = generator.permutation(available)
    first = epoch * count % available
    return [positive, *(negatives[order[(first + place) % available]] for place in range(count))]


def next_slice(
    positives: Sequence[int], negatives: Sequence[int], *, passages: int, seed: int, epoch: int
) -> list[int]:
    """Return one positive and the next ``passages`` - 1 negatives (the loader of Wang et al. 2023).

    With k = epoch + ``seed``, the positive is entry k, and the negatives start at entry k * (``passages`` -
    1), both modulo the length of the shuffled lists.
    """
    count, turn = passages - 1, epoch + seed
    choices = [negatives[(turn * count + place) % len(negatives)] for place in range(count)]
    return [positives[turn % len(positives)], *choices]


def confident(positive_scores: Sequence[float], negative_scores: Sequence[float]) -> list[int]:
    """Return the indices of a query's trusted positives (the loader of Wang et al. 2023).

    These are the first, and those that score at least as high as the first, or above every negative.
    """
    first, best = positive_scores[0], max(negative_scores, default=-np.inf)
    return [n for n, score in enumerate(positive_scores) if n == 0 or score >= first or score > best]
