"""Chooses what a run lets go of, large artefacts that nothing reads any more, and an order for it."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from repro.errors import check_known
from repro.graph import Node
from repro.stage_table import ENCODINGS

# What `--discard` takes, and the stages whose artefacts go. Rankings that are scored stay in any case, as
# tests between rows read them again.
DISCARDABLE: Mapping[str, tuple[str, ...]] = {
    "vectors": (*ENCODINGS, "encode_by_library"),
    "runs": ("search", "search_views", "bm25", "rerank"),
    "tokens": ("tokenize",),
    "indexes": ("lucene_index",),
}
SCORING = "evaluate"


def discarded_stages(kinds: Iterable[str]) -> frozenset[str]:
    """The stages whose artefacts go by these names. Raises UsageError for a name that there is not."""
    kinds = list(kinds)
    check_known("kind of artefact to discard", *kinds, valid=DISCARDABLE)
    return frozenset(stage for kind in kinds for stage in DISCARDABLE[kind])


class Consumers:
    """The nodes that are still to read each artefact that may go.

    Args:
        ends: nodes that are asked for themselves, which stay.
        nodes: all of a plan.
        needed: those of them that are to run.
        stored: fingerprints of those that are there already.
        stages: whose artefacts may go.
    """

    def __init__(
        self,
        ends: Iterable[Node],
        nodes: Sequence[Node],
        needed: Iterable[Node],
        stored: Collection[str],
        stages: frozenset[str],
    ):
        kept_ids = {end.fingerprint for end in ends}
        kept_ids |= {p.fingerprint for node in nodes if node.stage == SCORING for p in node.parents()}
        self._nodes = {n.fingerprint: n for n in nodes if n.stage in stages and n.fingerprint not in kept_ids}
        self._left: dict[str, set[str]] = {fingerprint: set() for fingerprint in self._nodes}
        for node in needed:
            for parent in node.parents():
                if parent.fingerprint in self._left:
                    self._left[parent.fingerprint].add(node.fingerprint)
        self._there = self._left.keys() & set(stored)
        self._place = {fingerprint: place for place, fingerprint in enumerate(self._nodes)}
        self._free = {fingerprint for fingerprint in self._there if not self._left[fingerprint]}

    def stored(self, node: Node) -> None:
        """A node was stored, and reads its inputs no more."""
        if node.fingerprint in self._left:
            self._there.add(node.fingerprint)
        for parent in node.parents():
            self._left.get(parent.fingerprint, set()).discard(node.fingerprint)
        fingerprints = {node.fingerprint, *(parent.fingerprint for parent in node.parents())}
        self._free |= {one for one in fingerprints & self._there if not self._left[one]}

    def free(self) -> list[Node]:
        """The artefacts that may go now, also those which were there before the first node ran."""
        return [self._nodes[fingerprint] for fingerprint in sorted(self._free, key=self._place.__getitem__)]

    def gone(self, node: Node) -> None:
        """An artefact went."""
        self._there.discard(node.fingerprint)
        self._free.discard(node.fingerprint)


def readers_first(needed: Sequence[Node], stages: frozenset[str]) -> list[Node]:
    """The same nodes, inputs first, with all that reads a large artefact right after it.

    In the order of a walk, vectors of a model that several tables rank with lie about from the first of these
    tables to the last. Vectors of queries are small, and call for nothing.
    """
    readers: dict[str, list[Node]] = {}
    for node in needed:
        for parent in node.parents():
            if parent.stage in stages and parent.params.get("kind") != "queries":
                readers.setdefault(parent.fingerprint, []).append(node)
    fingerprints = {node.fingerprint for node in needed}
    order: dict[str, Node] = {}
    queue: list[Node] = []

    def place(node: Node) -> None:
        if node.fingerprint not in fingerprints or node.fingerprint in order:
            return
        for parent in node.parents():
            place(parent)
        order[node.fingerprint] = node
        queue.extend(readers.get(node.fingerprint, ()))

    for node in needed:
        place(node)
        while queue:
            place(queue.pop(0))
    return list(order.values())
