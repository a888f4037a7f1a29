"""The disk of a run: large artefacts that go when nothing reads them any more, and whether the next one fits.

What a plan takes at its fullest is told by carrying it out in thought: node by node, with what goes.
Beside it stand the fingerprints that a manifest, a record or a test between rows still needs, which `repro
store gc` keeps.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from repro.errors import UsageError, check_known
from repro.graph import Node, canonical
from repro.machine.system import size_in_words
from repro.manifest.cells import exhibits, numeric_cells, select
from repro.manifest.papers import Paper
from repro.progress import Progress
from repro.running.cost.work import work
from repro.running.plan import Plan, plan
from repro.running.requirements import Obstacle
from repro.running.run_progress import describe
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.stage_table import ENCODINGS, STAGES
from repro.store import Store, notes, underway
from repro.store.disk import size_on_disk
from repro.store.notes import Lineage
from repro.store.results import Record

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
    """Return the same nodes, inputs first, with all readers of a large artefact right after it."""
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
        """Return why an artefact does not fit on the disk with those ``beside`` it; None if it does."""
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


@dataclass(frozen=True)
class KeptArtefacts:
    """The artefacts that papers need at some scales.

    Attributes:
        fingerprints: to be kept.
        notices: sentences about what could not be told.
        plans: of all cells and exhibits, and of what lies behind records otherwise.
    """

    fingerprints: set[str]
    notices: list[str]
    plans: list[Plan]


def kept_artefacts(
    papers: list[Paper],
    scales: list[Scale],
    workspace: Workspace,
    progress: Progress,
    *,
    undescribed: Iterable[str] = (),
) -> KeptArtefacts:
    """Return the fingerprints to keep for these papers at these scales.

    Kept are the nodes of every cell and exhibit with the readings' defaults and the data at hand; what
    lies behind a record, with its own seed and readings; what was made from data or checkpoints that a
    manifest names and that are not at hand now, since their fingerprints cannot be computed without
    them; and the significance tests between any of those. Of scales that are ``undescribed``, users' whose
    files are not at hand, it is what lies behind their records alone.
    """
    plans: list[Plan] = []
    recorded_ids, notices = _recorded_fingerprints(papers, undescribed, workspace)
    with progress.task("what the papers need", total=len(papers) * len(scales)) as advance:
        for paper, scale in product(papers, scales):
            cells, shown, machine = list(numeric_cells(paper)), exhibits((paper.name,), ()), workspace.machine
            plans.append(plan(cells, exhibits=shown, scale=scale, machine=machine))
            records = workspace.results.read(scale.name, paper.name)
            recorded_ids |= {record.fingerprint for record in records}
            for (seed, readings), ids in _variants(records).items():
                try:
                    cells = select((), tables=(), rows=(), cells=tuple(sorted(ids)))
                    seeds = () if seed is None else (seed,)
                    plans.append(
                        plan(cells, seeds=seeds, overrides=dict(readings), scale=scale, machine=machine)
                    )
                except UsageError as error:  # a cell or choice that the manifest no longer has
                    notices.append(f"records of {paper.name} at {scale.name} are not counted: {error}")
            advance()
    lineage = Lineage(workspace.store.root)
    needed = {node.fingerprint for each in plans for node in each.nodes} | lineage.below(recorded_ids)
    unidentified = _unidentified_artefacts(lineage, plans) - needed
    if unidentified:
        notices.append(f"{len(unidentified)} artefacts stay: what they were made from is not at hand")
    needed |= unidentified
    return KeptArtefacts(needed | lineage.tests_between(needed), notices, plans)


def finished_vectors(plans: Iterable[Plan], store: Store, *, keep_days: float) -> list[Node]:
    """Return stored vectors that no plan to run, or noted within ``keep_days``, still reads."""
    lineage, read_fingerprints = Lineage(store.root), set[str]()
    vectors: dict[str, Node] = {}
    for each in plans:
        each.look(store)
        read_fingerprints |= {parent.fingerprint for node in each.needed() for parent in node.parents()}
        vectors |= {node.fingerprint: node for node in _stored_vectors(each)}
        read_fingerprints |= {end.fingerprint for end in each.ends}
    stored_ids = lineage.stored()
    for note in notes.asked_since(store.root, days=keep_days):
        read_fingerprints.update(() if note in stored_ids else lineage.inputs(note))
    return [node for fingerprint, node in vectors.items() if fingerprint not in read_fingerprints]


def _stored_vectors(plan: Plan) -> list[Node]:
    stored_nodes = (node for node in plan.nodes if plan.states[node.fingerprint] == "stored")
    return [node for node in stored_nodes if node.stage in DISCARDABLE["vectors"]]


def _recorded_fingerprints(papers, names: Iterable[str], workspace: Workspace) -> tuple[set[str], list[str]]:
    """Return fingerprints of records of scales whose files are not at hand, with a sentence on each scale."""
    fingerprints, notices = set(), []
    for name, paper in product(sorted(names), papers):
        fingerprints |= {record.fingerprint for record in workspace.results.read(name, paper.name)}
    for name in sorted(names):
        reason = f"of the scale {name}, whose file was not given, only what lies behind records is kept"
        notices.append(f"{reason}; --scale with its file keeps all that it needs")
    return fingerprints, notices


def _variants(records: Iterable[Record]) -> dict[tuple, set[str]]:
    """Return, by (seed, readings), the cells that the suite measured otherwise than by default."""
    variants: dict[tuple, set[str]] = {}
    for record in records:
        readings = tuple(sorted((k, v) for k, v in record.readings.items() if k not in record.substitutes))
        if (record.seed is not None or readings) and not record.origin:
            variants.setdefault((record.seed, readings), set()).add(record.cell)
    return variants


def _unidentified_artefacts(lineage: Lineage, plans: list[Plan]) -> set[str]:
    """Return stored artefacts made from a source that a plan names and that is not at hand."""
    absent_sources = {_source(node.stage, node.params) for each in plans for node in _absent_nodes(each)}
    unidentified: set[str] = set()
    for fingerprint in lineage.stored() if absent_sources else ():
        records = {one: record for one in lineage.below([fingerprint]) if (record := lineage.describe(one))}
        if not absent_sources.isdisjoint(
            _source(record["stage"], record["params"]) for record in records.values()
        ):
            unidentified.update(records)
    return unidentified


def _absent_nodes(each: Plan) -> Iterator:
    obstacles = each.machine.obstacles
    return (n for n in each.nodes if n.fingerprint in obstacles and not obstacles[n.fingerprint].of_machine)


def _source(stage: str, params: Mapping[str, Any]) -> str:
    """Return a stage and its parameters without those that follow from the source's bytes or place."""
    ignored_names = {"identity", *STAGES[stage].ignored}
    return canonical([stage, {name: value for name, value in params.items() if name not in ignored_names}])
