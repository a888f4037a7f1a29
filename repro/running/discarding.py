"""The disk of a run: large artefacts that go when nothing reads them any more, and whether the next one fits.

What a plan takes at its fullest is told by carrying it out in thought: node by node, with what goes.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.errors import check_known
from repro.graph import Node
from repro.machine.system import size_in_words
from repro.progress import Progress
from repro.running.cost.work import work
from repro.running.requirements import Obstacle
from repro.running.run_progress import describe
from repro.stage_table import ENCODINGS
from repro.store import Store, underway
from repro.store.disk import size_on_disk

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
    """Return the stages whose artefacts go by these names. Raises UsageError for a name that there is not."""
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
        """Take note that a node was stored, and reads its inputs no more."""
        if node.fingerprint in self._left:
            self._there.add(node.fingerprint)
        for parent in node.parents():
            self._left.get(parent.fingerprint, set()).discard(node.fingerprint)
        fingerprints = {node.fingerprint, *(parent.fingerprint for parent in node.parents())}
        self._free |= {one for one in fingerprints & self._there if not self._left[one]}

    def free(self) -> list[Node]:
        """Return the artefacts that may go now, also those which were there before the first node ran."""
        return [self._nodes[fingerprint] for fingerprint in sorted(self._free, key=self._place.__getitem__)]

    def gone(self, node: Node) -> None:
        """Take note that an artefact went."""
        self._there.discard(node.fingerprint)
        self._free.discard(node.fingerprint)


def readers_first(needed: Sequence[Node], stages: frozenset[str]) -> list[Node]:
    """Return the same nodes, inputs first, with all that reads a large artefact right after it.

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


@dataclass(frozen=True)
class MemoryLevel:
    """The bytes that a plan takes with one node.

    Attributes:
        during: at most while it is made.
        after: once it is stored, and what nothing reads any more is gone.
        gone: what went then.
    """

    node: Node
    during: float
    after: float
    gone: tuple[Node, ...]


def levels(
    order: Iterable[Node],
    consumers: Consumers,
    sizes: Callable[[Node], tuple[float, float]],
    *,
    before: float = 0.0,
) -> list[MemoryLevel]:
    """Carry out nodes in an order.

    Args:
        consumers: of what may go, as a run has it before its first node; used up.
        sizes: bytes of a node's artefact, and those beside it while it is made.
        before: bytes that are stored already.
    """

    def discard_free() -> tuple[Node, ...]:
        nodes = tuple(consumers.free())
        for node in nodes:
            consumers.gone(node)
        return nodes

    used_bytes, course = before - sum(sizes(node)[0] for node in discard_free()), []
    for node in order:
        artefact_bytes, extra_bytes = sizes(node)
        peak = used_bytes + artefact_bytes + extra_bytes
        consumers.stored(node)
        removed_nodes = discard_free()
        used_bytes += artefact_bytes - sum(sizes(other)[0] for other in removed_nodes)
        course.append(MemoryLevel(node, peak, used_bytes, removed_nodes))
    return course


def fullest_level(course: Iterable[MemoryLevel]) -> MemoryLevel | None:
    """Return the level at which most is taken; None of an empty plan."""
    return max(course, key=lambda level: level.during, default=None)


class DiskRoom:
    """The share of the disk that a run may take.

    Args:
        consumers: of what may go.
        announcement: by which other processes know what this one waits for.
        most: bytes that the store may have; None for as many as its file system.
        discard: kinds of artefacts that go after their use already.
        may_discard: whether more kinds can be asked for.
        waiting: gives fingerprints of further artefacts that somebody is to read, at that time.
    """

    def __init__(
        self,
        consumers: Consumers,
        store: Store,
        progress: Progress,
        *,
        announcement: Path,
        most: int | None = None,
        discard: Sequence[str] = (),
        may_discard: bool = True,
        waiting: Callable[[], Iterable[str]] = tuple,
    ):
        self._consumers, self._store, self._progress = consumers, store, progress
        self._announcement, self._most, self._waiting = announcement, most, waiting
        self._discard = discard
        self._others = [kind for kind in DISCARDABLE if may_discard and kind not in discard]

    def let_go(self) -> None:
        """Remove what nothing reads any more, but for what another process still waits for."""
        for node in self._consumers.free():
            size = size_on_disk(self._store.path(node))
            if underway.let_go(self._store, node, but=self._announcement, keep=self._waiting):
                self._progress.note(f"  discarded: {describe(node)}, {size_in_words(size)}")
                self._consumers.gone(node)

    def stored(self, node: Node) -> None:
        """Let go of what a node that was stored was the last to read."""
        self._consumers.stored(node)
        self.let_go()

    def lacking(self, node: Node, beside: Iterable[Node] = ()) -> Obstacle | None:
        """Return why an artefact of its estimated size does not fit on the disk; None where it does.

        Args:
            beside: nodes that are being made, whose artefacts need room too.
        """
        size = self._remaining_bytes(node)
        reserved_bytes = sum(map(self._remaining_bytes, beside))
        free_bytes, place = self._free_space()
        if not size or size + reserved_bytes <= free_bytes:
            return None
        requirement = f"{describe(node)} takes about {size_in_words(size)} while it is made"
        cause = f"{requirement}, and {place} {size_in_words(free_bytes - reserved_bytes)}"
        return Obstacle(
            cause, self._remedy(size + reserved_bytes - free_bytes), of_machine=True, lacks="room on the disk"
        )

    def _remaining_bytes(self, node: Node) -> float:
        """Return what a node's artefact is still to take at most, beside what lies there of an attempt."""
        cost = work(node)
        return max(0.0, (cost.stored or 0.0) + cost.beside - size_on_disk(self._store.partial(node)))

    def _free_space(self) -> tuple[float, str]:
        """Return the bytes that are left, and by what."""
        free = shutil.disk_usage(self._store.root).free
        if self._most is None:
            return free, f"the file system of {self._store.root} has"
        allowance = self._most - size_on_disk(self._store.root)
        if allowance < free:
            return allowance, f"--max-disk {size_in_words(self._most)} leaves"
        return free, f"the file system of {self._store.root} has"

    def _remedy(self, missing_bytes: float) -> str:
        selections = [",".join([*self._discard, kind]) for kind in self._others[:1]]
        ways = [f"run with --discard {kinds}" for kinds in selections]
        ways += ["free some (`repro store gc --finished` says what could go)", "or name another store"]
        return f"{size_in_words(missing_bytes)} more are needed: {', '.join(ways)}"
