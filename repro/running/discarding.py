"""Find artefacts that a run may discard after their last use, and those to keep."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from repro import errors, stage_table
from repro.graph import Node, canonical, readers
from repro.machine.system import disk_free, size_in_words
from repro.manifest.cells import exhibits, numeric_cells, select
from repro.manifest.papers import Paper
from repro.progress import Progress
from repro.running.cost.work import work
from repro.running.plan import Plan, plan
from repro.running.requirements import Obstacle
from repro.running.run_progress import describe
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.store import Store, disk, notes, results, underway
from repro.store.notes import Lineage

# by value of `--discard`. Scored runs stay for significance tests.
DISCARDABLE: Mapping[str, tuple[str, ...]] = {
    "vectors": (*stage_table.ENCODINGS, "encode_by_library"),
    "runs": ("search", "search_views", "bm25", "rerank"),
    "tokens": ("tokenize",),
    "indexes": ("lucene_index",),
}
SCORING = "evaluate"


def discarded_stages(kinds: Iterable[str]) -> frozenset[str]:
    """Return the stages that make these kinds of artefact, e.g. "runs". Raises UsageError."""
    kinds = list(kinds)
    errors.check_known("kind of artefact to discard", *kinds, valid=DISCARDABLE)
    return frozenset(stage for kind in kinds for stage in DISCARDABLE[kind])


class Consumers:
    """The remaining readers of each artefact of ``stages`` that may be discarded.

    Artefacts of ``ends`` and scored runs are kept. ``stored`` are fingerprints.
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
        by_input = readers(needed)
        self._left = {one: {node.fingerprint for node in by_input.get(one, ())} for one in self._nodes}
        self._there = self._left.keys() & set(stored)
        self._place = {fingerprint: place for place, fingerprint in enumerate(self._nodes)}
        self._free = {fingerprint for fingerprint in self._there if not self._left[fingerprint]}

    def stored(self, node: Node) -> None:
        """Record that a node was stored, so that it no longer needs its inputs."""
        if node.fingerprint in self._left:
            self._there.add(node.fingerprint)
        for parent in node.parents():
            self._left.get(parent.fingerprint, set()).discard(node.fingerprint)
        fingerprints = {node.fingerprint, *(parent.fingerprint for parent in node.parents())}
        self._free |= {one for one in fingerprints & self._there if not self._left[one]}

    def free(self) -> list[Node]:
        """Return stored artefacts that no remaining node reads."""
        return [self._nodes[fingerprint] for fingerprint in sorted(self._free, key=self._place.__getitem__)]

    def gone(self, node: Node) -> None:
        self._there.discard(node.fingerprint)
        self._free.discard(node.fingerprint)


def readers_first(needed: Sequence[Node], stages: frozenset[str]) -> list[Node]:
    """Order nodes with inputs first. Readers of a large artefact of ``stages`` follow it directly."""
    by_input, fingerprints = readers(needed), {n.fingerprint for n in needed}
    order: dict[str, Node] = {}
    queue: list[Node] = []

    def place(node: Node) -> None:
        if node.fingerprint not in fingerprints or node.fingerprint in order:
            return
        for parent in node.parents():
            place(parent)
        order[node.fingerprint] = node
        if node.stage in stages and node.params.get("kind") != "queries":
            queue.extend(by_input.get(node.fingerprint, ()))

    for node in needed:
        place(node)
        while queue:
            place(queue.pop(0))
    return list(order.values())


@dataclass(frozen=True)
class MemoryLevel:
    """Bytes of the store while a node is made, and after the artefacts ``gone`` were removed."""

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
    """Simulate the nodes in order and return the bytes at each. Changes ``consumers``.

    ``sizes`` returns the bytes of an artefact and of its temporary files.
    """

    def discard_free() -> tuple[Node, ...]:
        nodes = tuple(consumers.free())
        for node in nodes:
            consumers.gone(node)
        return nodes

    used_bytes, course = before - sum(sizes(n)[0] for n in discard_free()), []
    for node in order:
        artefact_bytes, extra_bytes = sizes(node)
        peak = used_bytes + artefact_bytes + extra_bytes
        consumers.stored(node)
        removed_nodes = discard_free()
        used_bytes += artefact_bytes - sum(sizes(other)[0] for other in removed_nodes)
        course.append(MemoryLevel(node, peak, used_bytes, removed_nodes))
    return course


def fullest_level(course: Iterable[MemoryLevel]) -> MemoryLevel | None:
    return max(course, key=lambda level: level.during, default=None)


@dataclass
class DiskRoom:
    """The disk space of a run.

    Attributes:
        announcement: file that announces this run.
        most, discard, may_discard: as in ``Options``.
        waiting: returns fingerprints that other requests read.
    """

    consumers: Consumers
    store: Store
    progress: Progress
    announcement: Path
    most: int | None = None
    discard: Sequence[str] = ()
    may_discard: bool = True
    waiting: Callable[[], Iterable[str]] = tuple

    def let_go(self) -> None:
        """Remove unused artefacts that no other process needs."""
        for node in self.consumers.free():
            size = disk.size_on_disk(self.store.path(node))
            if underway.remove_unless_needed(self.store, node, but=self.announcement, keep=self.waiting):
                self.progress.note(f"  discarded: {describe(node)}, {size_in_words(size)}")
                self.consumers.gone(node)

    def stored(self, node: Node) -> None:
        self.consumers.stored(node)
        self.let_go()

    def lacking(self, node: Node, beside: Iterable[Node] = ()) -> Obstacle | None:
        """Return an obstacle if a node does not fit on the disk together with those of ``beside``."""
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
        return max(0.0, (cost.stored or 0.0) + cost.beside - disk.size_on_disk(self.store.partial(node)))

    def _free_space(self) -> tuple[float, str]:
        free = disk_free(self.store.root)
        if self.most is not None:
            allowance = self.most - disk.size_on_disk(self.store.root)
            if allowance < free:
                return allowance, f"--max-disk {size_in_words(self.most)} leaves"
        return free, f"the file system of {self.store.root} has"

    def _remedy(self, missing_bytes: float) -> str:
        others = [kind for kind in DISCARDABLE if self.may_discard and kind not in self.discard]
        ways = [f"run with --discard {','.join([*self.discard, kind])}" for kind in others[:1]]
        ways += ["free some (`repro store gc --finished` lists candidates)", "or name another store"]
        return f"{size_in_words(missing_bytes)} more are needed: {', '.join(ways)}"


@dataclass(frozen=True)
class KeptArtefacts:
    """The fingerprints of artefacts to keep, notices for the user, and the plans that need them."""

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
    """Return the artefacts that cells, exhibits, records and their tests need, and those of absent sources.

    Scales in ``undescribed`` are known by their records only.
    """
    plans: list[Plan] = []
    recorded_ids, notices = _recorded_fingerprints(papers, undescribed, workspace)
    with progress.task("needed artefacts", total=len(papers) * len(scales)) as advance:
        for paper, scale in product(papers, scales):
            cells, shown, machine = list(numeric_cells(paper)), exhibits((paper.name,)), workspace.machine
            plans.append(plan(cells, exhibits=shown, scale=scale, machine=machine))
            records = workspace.results.read(scale.name, paper.name)
            recorded_ids |= {r.fingerprint for r in records}
            for (seed, readings), ids in _variants(records).items():
                try:
                    cells = select(cells=tuple(sorted(ids)))
                    seeds = () if seed is None else (seed,)
                    plans.append(
                        plan(cells, seeds=seeds, overrides=dict(readings), scale=scale, machine=machine)
                    )
                except errors.UsageError as error:
                    notices.append(f"records of {paper.name} at {scale.name} are not counted: {error}")
            advance()
    lineage = Lineage(workspace.store.root)
    needed = {node.fingerprint for each in plans for node in each.nodes} | lineage.below(recorded_ids)
    unidentified = _unidentified_artefacts(lineage, plans) - needed
    if unidentified:
        notices.append(f"{len(unidentified)} artefacts stay because their sources are absent")
    needed |= unidentified
    return KeptArtefacts(needed | lineage.tests_between(needed), notices, plans)


def finished_vectors(plans: Iterable[Plan], store: Store, *, keep_days: float) -> list[Node]:
    """Return stored vectors that no stage of the plans, or planned within ``keep_days``, still reads."""
    lineage, read_fingerprints = Lineage(store.root), set[str]()
    vectors: dict[str, Node] = {}
    for each in plans:
        each.look(store)
        read_fingerprints |= {parent.fingerprint for node in each.needed() for parent in node.parents()}
        vectors |= {n.fingerprint: n for n in _stored_vectors(each)}
        read_fingerprints |= {end.fingerprint for end in each.ends}
    stored_ids = lineage.stored()
    for note in notes.planned_since(store.root, days=keep_days):
        read_fingerprints.update(() if note in stored_ids else lineage.inputs(note))
    return [node for fingerprint, node in vectors.items() if fingerprint not in read_fingerprints]


def _stored_vectors(plan: Plan) -> list[Node]:
    stored_nodes = (n for n in plan.nodes if plan.states[n.fingerprint] == "stored")
    return [n for n in stored_nodes if n.stage in DISCARDABLE["vectors"]]


def _recorded_fingerprints(papers, names: Iterable[str], workspace: Workspace) -> tuple[set[str], list[str]]:
    names = sorted(names)
    records = (r for name, paper in product(names, papers) for r in workspace.results.read(name, paper.name))
    notice = "only artefacts of records are kept, use --scale FILE to keep all"
    return {r.fingerprint for r in records}, [f"scale {name}: {notice}" for name in names]


def _variants(records: Iterable[results.Record]) -> dict[tuple, set[str]]:
    variants: dict[tuple, set[str]] = {}
    for record in records:
        readings = tuple(sorted((k, v) for k, v in record.readings.items() if k not in record.substitutes))
        if (record.seed is not None or readings) and not record.origin:
            variants.setdefault((record.seed, readings), set()).add(record.cell)
    return variants


def _unidentified_artefacts(lineage: Lineage, plans: list[Plan]) -> set[str]:
    absent_sources = {_source(node.stage, node.params) for each in plans for node in _absent_nodes(each)}
    unidentified: set[str] = set()
    for fingerprint in lineage.stored() if absent_sources else ():
        records = {one: record for one in lineage.below([fingerprint]) if (record := lineage.describe(one))}
        if not absent_sources.isdisjoint(_source(r["stage"], r["params"]) for r in records.values()):
            unidentified.update(records)
    return unidentified


def _absent_nodes(each: Plan) -> Iterator:
    obstacles = each.machine.obstacles
    return (n for n in each.nodes if n.fingerprint in obstacles and not obstacles[n.fingerprint].of_machine)


def _source(stage: str, params: Mapping[str, Any]) -> str:
    ignored_names = {"identity", *stage_table.STAGES[stage].ignored}
    return canonical([stage, {name: value for name, value in params.items() if name not in ignored_names}])
