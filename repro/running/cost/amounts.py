"""The amounts that a node works on: as it is planned, or as its stored artefact and its inputs tell."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from repro.graph import Node, walk
from repro.retrieval.datasets.catalog import catalog
from repro.running.cost import shapes
from repro.running.cost.work import trained_steps
from repro.running.requirements import PIECES
from repro.store import Store

Number = float | None  # None where nobody counted
BATCHES = {"pretrain": "texts_per_batch", "finetune": "queries_per_batch"}


class Counts(Protocol):
    """The facts that amounts are made of."""

    def documents(self, node: Node) -> Number:
        """Documents of the collection that a node reads."""

    def words(self, node: Node) -> Number:
        """Words of these documents."""

    def queries(self, node: Node) -> Number:
        """Queries of a set of queries, judgements or training examples."""

    def rows(self, node: Node) -> Number:
        """Rows that are read of a file of negatives."""

    def trained(self, node: Node) -> Number:
        """Examples that a training goes through in all its steps."""


class PlannedCounts:
    """Counts of a plan, from the catalogue and the nodes' parameters."""

    def documents(self, node: Node) -> Number:
        return shapes.texts(node)

    def words(self, node: Node) -> Number:
        return shapes.text_words(node)

    def queries(self, node: Node) -> Number:
        return shapes.queries(node)

    def rows(self, node: Node) -> Number:
        entry, piece = catalog()[node.params["dataset"]], PIECES[node.stage]
        topics = catalog().get(entry.queries_of or "")
        return (
            node.params.get("first") or entry.counts.get(piece) or (topics and topics.counts.get("queries"))
        )

    def trained(self, node: Node) -> Number:
        steps = trained_steps(node)
        return steps and steps * node.params[BATCHES[node.stage]]


@dataclass(frozen=True)
class StoredCounts:
    """Counts of what was done, from the records of artefacts."""

    store: Store

    def documents(self, node: Node) -> Number:
        return self._fact(_source("corpus", node), "documents")

    def words(self, node: Node) -> Number:
        corpus = _source("corpus", node)
        return corpus and size_of(corpus, self.store) / shapes.CHARACTERS

    def queries(self, node: Node) -> Number:
        return self._fact(node, "queries") or self._fact(_source("queries", node), "queries")

    def rows(self, node: Node) -> Number:
        tasks = self.store.record(node)["facts"].get("tasks", {}).items()
        rows = max((task["done"] for name, task in tasks if name.startswith("reading ")), default=0)
        return rows or node.params.get("first")

    def trained(self, node: Node) -> Number:
        steps, examples = self._fact(node, "steps"), self._fact(node, "examples")
        if not steps or not examples:
            return None
        batch = node.params[BATCHES[node.stage]]
        epochs, remainder = divmod(steps, math.ceil(examples / batch))  # an epoch's last batch may be smaller
        return epochs * examples + min(remainder * batch, examples)

    def _fact(self, node: Node | None, name: str) -> Number:
        return self.store.record(node)["facts"].get(name) if node is not None else None


def size_of(node: Node, store: Store) -> int:
    """Bytes of a stored artefact."""
    return sum(file["size"] for file in store.record(node)["files"].values())


def amount(name: str, node: Node, counts: Counts) -> Number:
    """The amount of what ``growth.yaml`` calls by this name that a node works on."""
    return AMOUNTS[name](node, counts)


def _pairs(node: Node, counts: Counts) -> Number:
    each = node.params["depth"] if node.stage == "rerank" else (node.params["per_query"] or 0) + 1
    return _product(counts.queries(_query_source(node)), each)


def _lines(node: Node, counts: Counts) -> Number:
    """Lines of the run that is evaluated, as far as its depth is known."""
    run = node.inputs["run"]
    return _product(counts.queries(_query_source(node)), run.params.get("keep") or run.params.get("depth"))


def _texts(node: Node, counts: Counts) -> Number:
    source = node.inputs["texts"]
    return counts.queries(source) if node.params["kind"] == "queries" else counts.documents(source)


AMOUNTS: dict[str, Callable[[Node, Counts], Number]] = {
    "documents": lambda node, counts: counts.documents(_document_source(node)),
    "words": lambda node, counts: counts.words(_document_source(node)),
    "queries": lambda node, counts: counts.queries(_query_source(node)),
    "triples": lambda node, counts: counts.rows(node),
    "listed": lambda node, counts: counts.rows(node),
    "texts": _texts,
    "examples": lambda node, counts: counts.trained(node),
    "products": lambda node, counts: _product(
        counts.documents(_document_source(node)), counts.queries(_query_source(node))
    ),
    "pairs": _pairs,
    "lines": _lines,
}


def _product(*factors: Number) -> Number:
    return None if None in factors else math.prod(factors)


def _document_source(node: Node) -> Node:
    """The input whose documents a node works through."""
    inputs = (node.inputs.get(name) for name in ("passages", "corpus", "index", "tokens", "texts"))
    value = next((value for value in inputs if isinstance(value, Node)), node)
    return value.inputs.get("texts", value)


def _query_source(node: Node) -> Node:
    """The input that says which queries a node is about."""
    for name in ("training_set", "training_sets", "queries", "qrels"):
        if name in node.inputs:
            value = node.inputs[name]
            first = value[0] if isinstance(value, tuple) else value
            return first.inputs.get("texts", first)
    return node


def _source(stage: str, node: Node) -> Node | None:
    return next((each for each in walk([node]) if each.stage == stage), None)
