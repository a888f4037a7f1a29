"""The verbs of recipes: each builds a node, none runs anything, none knows the scale.

A recipe is a function ``recipe(request, *, option=…) -> Node`` in a paper's ``recipes.py``. It returns the
node whose artefact is measured: a run over ``request.dataset``. Every value a paper leaves open comes from
``request.reading(id)``; no verb has a default for a hyper-parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.datasets.catalog import dataset as catalogued
from repro.errors import unknown
from repro.graph import Node
from repro.manifest.schema import Reading


@dataclass(frozen=True)
class Objective:
    """A training objective as the fingerprint sees it, without importing it.

    ``name`` and ``version`` must be what the class at ``path`` declares; the stage checks that. Only the path
    may change freely: moving a file must not discard a pre-training.
    """

    name: str
    version: int
    path: str

    def as_param(self) -> dict:
        return {"name": self.name, "version": self.version, "path": self.path}


@dataclass
class Choices:
    """The readings a recipe may ask for, and a note of those it asked for.

    Attributes:
        readings: by id.
        overrides: choice names the user set, by reading id.
        data: the folder of the user's own data, where originals are looked for.
        used: reading id -> choice name, filled as the recipe asks.
        substitutes: reading id -> why another choice than the wanted one was taken.
        scoring: what a recipe changes of how its dataset is usually scored.
    """

    readings: Mapping[str, Reading]
    overrides: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    used: dict[str, str] = field(default_factory=dict)
    substitutes: dict[str, str] = field(default_factory=dict)
    scoring: dict[str, bool] = field(default_factory=dict)

    def value(self, identifier: str) -> Any:
        """The chosen value. Raises UsageError for an id or choice that does not exist."""
        reading = self._reading(identifier)
        choice = self.used.setdefault(identifier, self.overrides.get(identifier, reading.default))
        if choice not in reading.choices:
            raise unknown(f"choice of reading {identifier!r}", choice, reading.choices)
        return reading.choices[choice]

    def original(self, identifier: str, file: str, *, otherwise: str) -> Path | None:
        """The original data file a reading is about, or None with the substitute noted.

        Args:
            file: path below REPRO_DATA.
            otherwise: the choice taken when the file is not there.
        """
        path = self.data / file if self.data else None
        if path is not None and path.exists():
            return path
        self.used[identifier] = otherwise
        self.substitutes[identifier] = f"{file} is not in REPRO_DATA"
        return None

    def departures(self) -> dict[str, str]:
        """The choices used that are not the default: what makes a measurement ``modified``."""
        return {i: c for i, c in self.used.items() if c != self._reading(i).default}

    def _reading(self, identifier: str) -> Reading:
        try:
            return self.readings[identifier]
        except KeyError:
            raise unknown("reading", identifier, self.readings) from None


@dataclass(frozen=True)
class Request:
    """What a recipe is asked for: a run over one dataset, under some readings.

    Attributes:
        dataset: id of the topics and judgements.
        choices: the readings in force.
        seed: set when the user asks for seeds of their own; None means the paper's.
    """

    dataset: str
    choices: Choices
    seed: int | None = None

    def reading(self, identifier: str) -> Any:
        """The value of a reading's choice in force."""
        return self.choices.value(identifier)

    def score_with(self, *, ignore_identical_ids: bool) -> None:
        """Depart from how the dataset is usually scored, as a reading of this row says."""
        self.choices.scoring["ignore_identical_ids"] = ignore_identical_ids

    def seed_or(self, papers_own: int) -> int:
        """The seed the user asked for, else the paper's own."""
        return papers_own if self.seed is None else self.seed

    @property
    def collection(self) -> str:
        """The id of the corpus the dataset's topics search."""
        return catalogued(self.dataset).corpus_id


def corpus(identifier: str) -> Node:
    """The documents of a collection."""
    return Node("corpus", {"dataset": identifier})


def queries(identifier: str) -> Node:
    """The topics of a dataset, with answers where it is judged by answers."""
    return Node("queries", {"dataset": identifier})


def qrels(identifier: str) -> Node:
    """The judgements of a dataset."""
    return Node("qrels", {"dataset": identifier})


def official_negatives(identifier: str, *, per_query: int, seed: int) -> Node:
    """The negatives a collection's makers distribute, sampled per query."""
    return Node("official_negatives", {"dataset": identifier, "per_query": per_query, "seed": seed})


def backbone(name: str, *, revision: str) -> Node:
    """A released checkpoint; at other scales than full, a model of that scale in its place."""
    return Node("backbone", {"name": name, "revision": revision})


def tokenize(documents: Node, *, model: Node, length: int, policy: str, titles: bool, separator: str) -> Node:
    """Texts, titled or not, as token ids in chunks or truncated; ``length`` counts special tokens."""
    params = {"length": length, "policy": policy, "titles": titles, "separator": separator}
    return Node("tokenize", params, {"corpus": documents, "model": model})


def pretrain(
    model: Node,
    tokens: Node,
    *,
    objective: Objective,
    options: Mapping[str, Any],
    texts_per_batch: int,
    epochs: float | None,
    max_steps: int | None,
    learning_rate: float,
    warmup_ratio: float,
    warmup_steps: int,
    schedule: str,
    weight_decay: float,
    max_grad_norm: float,
    precision: str,
    length: int,
    seed: int,
) -> Node:
    """An encoder trained on text alone by an objective."""
    params = {
        "objective": objective.as_param(), "options": dict(options), "texts_per_batch": texts_per_batch,
        "epochs": epochs, "max_steps": max_steps, "learning_rate": learning_rate,
        "warmup_ratio": warmup_ratio, "warmup_steps": warmup_steps, "schedule": schedule,
        "weight_decay": weight_decay, "max_grad_norm": max_grad_norm, "precision": precision,
        "length": length, "seed": seed,
    }  # fmt: skip
    return Node("pretrain", params, {"model": model, "tokens": tokens})


def finetune(
    model: Node,
    training_set: Node,
    *,
    documents: Node,
    topics: Node,
    objective: Objective,
    options: Mapping[str, Any],
    queries_per_batch: int,
    passages_per_query: int,
    epochs: float,
    max_steps: int | None,
    learning_rate: float,
    warmup_ratio: float,
    warmup_steps: int,
    schedule: str,
    weight_decay: float,
    max_grad_norm: float,
    precision: str,
    query_length: int,
    passage_length: int,
    separator: str,
    pooling: str,
    seed: int,
) -> Node:
    """An encoder trained on judged queries with negatives."""
    params = {
        "objective": objective.as_param(), "options": dict(options), "queries_per_batch": queries_per_batch,
        "passages_per_query": passages_per_query, "epochs": epochs, "max_steps": max_steps,
        "learning_rate": learning_rate, "warmup_ratio": warmup_ratio, "warmup_steps": warmup_steps,
        "schedule": schedule, "weight_decay": weight_decay, "max_grad_norm": max_grad_norm,
        "precision": precision, "query_length": query_length, "passage_length": passage_length,
        "separator": separator, "pooling": pooling, "seed": seed,
    }  # fmt: skip
    inputs = {"model": model, "training_set": training_set, "corpus": documents, "queries": topics}
    return Node("finetune", params, inputs)


def encode(
    model: Node,
    texts: Node,
    *,
    kind: str,
    length: int,
    separator: str,
    pooling: str,
    normalize: bool,
    precision: str,
) -> Node:
    """One vector a text. ``kind`` is passages or queries; queries have no title and so no separator."""
    params = {
        "kind": kind, "length": length, "separator": separator if kind == "passages" else "",
        "pooling": pooling, "normalize": normalize, "precision": precision,
    }  # fmt: skip
    return Node("encode", params, {"model": model, "texts": texts})


def search(passages: Node, topics: Node, *, depth: int) -> Node:
    """Exact inner-product search of encoded queries over encoded passages."""
    return Node("search", {"depth": depth}, {"passages": passages, "queries": topics})


def bm25(documents: Node, topics: Node, *, k1: float, b: float, multifield: bool, depth: int) -> Node:
    """A BM25 run by Lucene over titles and texts, in one field or two."""
    index = Node("lucene_index", {"multifield": multifield}, {"corpus": documents})
    params = {"k1": k1, "b": b, "multifield": multifield, "depth": depth}
    return Node("bm25", params, {"index": index, "queries": topics})


def mine(run: Node, judgements: Node, *, depth: int, per_query: int, seed: int) -> Node:
    """Hard negatives: the top of a run without its positives, ``per_query`` of them kept."""
    return Node(
        "mine", {"depth": depth, "per_query": per_query, "seed": seed}, {"run": run, "qrels": judgements}
    )


def union(*training_sets: Node) -> Node:
    """Several training sets as one: each query's negatives side by side."""
    return Node("union", {}, {"training_sets": training_sets})
