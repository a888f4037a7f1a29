"""Graphs of which sources give their first rows only, for a rehearsal."""

from dataclasses import dataclass

from repro.datasets.catalog import dataset as catalogued
from repro.graph import Node, walk
from repro.running.scale_facts import RowCounts


@dataclass(frozen=True)
class RowLimits:
    """The numbers of rows that the sources of one graph give.

    Judgements and negatives name queries and documents that are not among the first. So these nodes get the
    first queries and documents as inputs, some of which stand for those (``repro.datasets.first_rows``).

    Attributes:
        corpora: the graph's collections, each as its node was made, in the order in which they are read.
    """

    first: RowCounts
    corpora: tuple[Node, ...] = ()

    @classmethod
    def of(cls, first: RowCounts, graph: Node) -> "RowLimits":
        """The limits of a graph that is still without them."""
        if first == RowCounts():
            return cls(first)
        return cls(first, tuple(node for node in walk([graph]) if node.stage == "corpus"))

    def taken(self, node: Node) -> Node:
        """The node with its limit, if it is a source and there is one."""
        if node.stage == "corpus":
            return _limit_rows(node, self.first.documents)
        if node.stage == "queries":
            return _limit_rows(node, self.first.queries)
        if node.stage == "qrels":
            answers = catalogued(node.params["dataset"]).judgements == "answers"
            return node if answers else self._naming_first(node, node.params["dataset"])
        if node.stage in ("official_negatives", "listed_negatives"):
            rows = self.first.triples if node.stage == "official_negatives" else self.first.negatives
            topics = catalogued(node.params["dataset"]).queries_of
            return self._naming_first(_limit_rows(node, rows), topics)
        return node

    def _naming_first(self, node: Node, topics: str | None) -> Node:
        """The node with the first queries and documents as inputs, by which it names all others."""
        inputs = dict(node.inputs)
        if self.first.queries is not None and topics:
            inputs["queries"] = self.taken(Node("queries", {"dataset": topics}))
        if self.first.documents is not None:
            inputs["corpus"] = self.taken(self._corpus(catalogued(node.params["dataset"]).corpus_id))
        return Node(node.stage, node.params, inputs)

    def _corpus(self, identifier: str) -> Node:
        """The graph's own collection of these ids: that one, or one with other titles or texts."""
        exact = [node for node in self.corpora if node.params["dataset"] == identifier]
        variants = [node for node in self.corpora if node.params["dataset"].startswith(f"{identifier}/")]
        return next(iter(exact + variants), Node("corpus", {"dataset": identifier}))


def _limit_rows(node: Node, rows: int | None) -> Node:
    return node if rows is None else Node(node.stage, {**node.params, "first": rows}, node.inputs)
