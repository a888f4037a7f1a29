"""The amounts that a node works on, and the costs that grow with them."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from repro.graph import Node
from repro.manifest import yaml_file
from repro.retrieval.datasets.catalog import catalog
from repro.running.cost import shapes
from repro.running.cost.shapes import Number, product, source
from repro.running.requirements import PIECES
from repro.store import Store

BATCHES = {"pretrain": "texts_per_batch", "finetune": "queries_per_batch"}


class PlannedCounts:
    """Counts of planned nodes by catalogue and parameters. None means unknown."""

    def documents(self, node: Node) -> Number:
        return shapes.texts(node)

    def words(self, node: Node) -> Number:
        return shapes.text_words(node)

    def queries(self, node: Node) -> Number:
        """Return the number of a node's queries, also of its judgements or training examples."""
        return shapes.queries(node)

    def rows(self, node: Node) -> Number:
        """Return the number of rows read from a file of negatives."""
        if first := node.params.get("first"):
            return first
        entry = catalog().get(node.params["dataset"])
        if entry is None:
            return None
        topics = catalog().get(entry.queries_of or "")
        return entry.counts.get(PIECES[node.stage]) or (topics.counts.get("queries") if topics else None)

    def trained(self, node: Node) -> Number:
        return product(trained_steps(node), node.params[BATCHES[node.stage]])


@dataclass(frozen=True)
class StoredCounts(PlannedCounts):
    """Counts of finished work, read from the records of artefacts."""

    store: Store

    def documents(self, node: Node) -> Number:
        return self._fact(source("corpus", node), "documents")

    def words(self, node: Node) -> Number:
        corpus = source("corpus", node)
        return size_of(corpus, self.store) / shapes.CHARACTERS if corpus else None

    def queries(self, node: Node) -> Number:
        return self._fact(node, "queries") or self._fact(source("queries", node), "queries")

    def rows(self, node: Node) -> Number:
        tasks = self.store.record(node)["facts"].get("tasks", {}).items()
        rows = max((task["done"] for name, task in tasks if name.startswith("reading ")), default=0)
        return rows or node.params.get("first")

    def trained(self, node: Node) -> Number:
        steps, examples = self._fact(node, "steps"), self._fact(node, "examples")
        if not steps or not examples:
            return None
        batch = node.params[BATCHES[node.stage]]
        epochs, remainder = divmod(steps, math.ceil(examples / batch))
        return epochs * examples + min(remainder * batch, examples)

    def _fact(self, node: Node | None, name: str) -> Number:
        return self.store.record(node)["facts"].get(name) if node is not None else None


PLANNED = PlannedCounts()


def size_of(node: Node, store: Store) -> int:
    return sum(file["size"] for file in store.record(node)["files"].values())


def trained_steps(node: Node) -> Number:
    params = node.params
    if node.stage == "pretrain":
        examples = shapes.rows(node.input("tokens"))
    else:
        examples = shapes.queries(node.input("training_set"))
    limits = [params["max_steps"]] if params["max_steps"] is not None else []
    if params["epochs"] is not None and examples is not None:
        limits.append(math.ceil(params["epochs"] * math.ceil(examples / params[BATCHES[node.stage]])))
    return min(limits) if limits else None


def amount(name: str, node: Node, counts: PlannedCounts = PLANNED) -> Number:
    """Return a node's amount of this name in ``stages.yaml``, e.g. "documents", or None if unknown."""
    return AMOUNTS[name](node, counts)


def _pairs(node: Node, counts: PlannedCounts) -> Number:
    each = node.params["depth"] if node.stage == "rerank" else (node.params["per_query"] or 0) + 1
    return product(counts.queries(_query_source(node)), each)


def _lines(node: Node, counts: PlannedCounts) -> Number:
    run = node.input("run")
    return product(counts.queries(_query_source(node)), run.params.get("keep") or run.params.get("depth"))


def _texts(node: Node, counts: PlannedCounts) -> Number:
    source = node.input("texts")
    return counts.queries(source) if node.params["kind"] == "queries" else counts.documents(source)


def _tokens(node: Node, counts: PlannedCounts) -> Number:
    each = sum(length.times * length.real for length in shapes.texts_read(node))
    return product(amount(cost_of(node).time or "", node, counts), each)


def _negatives(node: Node, counts: PlannedCounts) -> Number:
    each = (node.params.get("per_query") or 0) + (node.params.get("random_added") or 0)
    return product(counts.queries(node), each)


AMOUNTS: dict[str, Callable[[Node, PlannedCounts], Number]] = {
    "documents": lambda node, counts: counts.documents(_document_source(node)),
    "words": lambda node, counts: counts.words(_document_source(node)),
    "text_bytes": lambda node, counts: product(counts.words(_document_source(node)), shapes.CHARACTERS),
    "queries": lambda node, counts: counts.queries(_query_source(node)),
    "triples": lambda node, counts: counts.rows(node),
    "listed": lambda node, counts: counts.rows(node),
    "texts": _texts,
    "examples": lambda node, counts: counts.trained(node),
    "products": lambda node, counts: product(
        counts.documents(_document_source(node)), counts.queries(_query_source(node))
    ),
    "hits": lambda node, counts: product(counts.queries(_query_source(node)), node.params.get("depth")),
    "pairs": _pairs,
    "tokens": _tokens,
    "lines": _lines,
    "negatives": _negatives,
    "weights": lambda node, counts: shapes.shape(node).all_weights,
}


def _document_source(node: Node) -> Node:
    names = ("passages", "corpus", "index", "tokens", "texts")
    return _texts_of(next((node.input(name) for name in names if name in node.inputs), node))


def _query_source(node: Node) -> Node:
    names = ("training_set", "training_sets", "queries", "qrels")
    value = next((node.inputs[name] for name in names if name in node.inputs), None)
    return node if value is None else _texts_of(value[0] if isinstance(value, tuple) else value)


def _texts_of(node: Node) -> Node:
    return node.input("texts") if "texts" in node.inputs else node


class StageCost(yaml_file.StrictMapping):
    """The costs of a stage by amounts, documented in ``stages.yaml``."""

    seconds: dict[str, float] = Field(default_factory=dict)
    waits: bool = False
    bytes: dict[str, int | float] = Field(default_factory=dict)
    copies: float = 1.0
    further: float = 0.0
    beside: dict[str, float] = Field(default_factory=dict)
    source: str = ""
    time: str | None = None
    disk: str | None = None
    memory: dict[str, float] = Field(default_factory=dict)


NO_COST = StageCost()


@functools.cache
def stage_costs() -> Mapping[str, StageCost]:
    """Read the costs by stage or variation, e.g. "tokenize-spans". Raises ManifestError."""
    return yaml_file.read(Path(__file__).with_name("stages.yaml"), dict[str, StageCost])


def cost_of(node: Node) -> StageCost:
    is_spans = node.stage == "tokenize" and node.params.get("policy") == "spans"
    return stage_costs().get("tokenize-spans" if is_spans else node.stage, NO_COST)


def total(factors: Mapping[str, float], node: Node) -> Number:
    """Return the sum of amounts times their factors, or None if one is unknown. 0.0 for no amount."""
    parts = [product(amount(name, node), factor) for name, factor in factors.items()]
    return shapes.added(parts) if parts else 0.0
