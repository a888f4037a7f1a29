"""The cost of what a plan still has to run: hours, disk, downloads; a budget of hours; what papers state."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.papers import Paper
from repro.manifest.yaml_file import StrictMapping
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.fetching import archives
from repro.running.cost.rehearsals import Rehearsals
from repro.running.cost.throughput import Throughput
from repro.running.cost.work import Work, work
from repro.running.discarding import Consumers, MemoryLevel, fullest_level, levels, readers_first
from repro.running.plan import Plan
from repro.running.requirements import PIECES, Obstacle
from repro.store.disk import size_on_disk


@dataclass(frozen=True)
class Estimate:
    """The cost of the nodes to run.

    Attributes:
        works: fingerprint -> work, of the nodes to run.
        throughput: None without a measured or named device; then hours are those of rehearsals alone.
        rehearsals: what was measured of stages like these on this machine; None where another is meant.
    """

    plan: Plan
    nodes: list[Node]
    works: Mapping[str, Work]
    throughput: Throughput | None
    rehearsals: Rehearsals | None = None

    def hours(self, nodes: Iterable[Node]) -> float | None:
        """Return the hours to run ``nodes``, without those of unknown work; None where nothing tells of any.

        A node that was rehearsed takes as long as that says, with what it does without a model; others, by
        the operations of their models.
        """
        parts = [self.hours_of(n) for n in nodes if n.fingerprint in self.works]
        return None if self.throughput is None and not any(parts) else sum(hours or 0 for hours in parts)

    def hours_of(self, node: Node) -> float | None:
        """Return the hours of one node; None where they cannot be told."""
        rehearsed_hours = self.rehearsed(node)
        if rehearsed_hours is not None or self.throughput is None:
            return rehearsed_hours
        return self.throughput.hours(self.work_of(node))

    def rehearsed(self, node: Node) -> float | None:
        """Return the hours of a node by the rehearsal of its kind; None without one."""
        return self.rehearsals.hours(node) if self.rehearsals else None

    @cached_property
    def operations(self) -> float:
        """Floating-point operations of all nodes to run."""
        return sum(w.operations for w in self.works.values())

    @cached_property
    def uncounted(self) -> list[Node]:
        """Nodes whose work depends on a count that nobody knows."""
        return [n for n in self.nodes if not self.works[n.fingerprint].is_known]

    @cached_property
    def stored(self) -> float:
        """Bytes of the artefacts to come."""
        return sum(w.stored or 0 for w in self.works.values())

    def core_hours(self, nodes: Iterable[Node]) -> float:
        """Return hours of one core for what no model does, as far as known and not in ``hours``."""
        unrehearsed_nodes = [n for n in nodes if self.rehearsed(n) is None]
        works = [self.works[n.fingerprint] for n in unrehearsed_nodes if n.fingerprint in self.works]
        return sum(work.core_seconds or 0 for work in works) / 3600

    def disk(self, stages: frozenset[str] = frozenset(), *, before: float = 0.0) -> list[MemoryLevel]:
        """Return the bytes of the store as nodes are run, when artefacts of some stages go after their use.

        Args:
            before: bytes of the store as it is.
        """

        def sizes(node: Node) -> tuple[float, float]:
            cost = self.work_of(node)
            return cost.stored or 0.0, cost.beside

        stored_ids = {fingerprint for fingerprint, state in self.plan.states.items() if state == "stored"}
        consumers = Consumers(self.plan.ends, self.plan.nodes, self.nodes, stored_ids, stages)
        return levels(readers_first(self.nodes, stages), consumers, sizes, before=before)

    def fullest(self, stages: frozenset[str] = frozenset(), *, before: float = 0.0) -> MemoryLevel | None:
        """Return the level of ``disk`` at which most is taken; None where nothing is to run."""
        return fullest_level(self.disk(stages, before=before))

    def bytes_stored(self, root: Path) -> float:
        """Return the bytes of those of the plan's artefacts that a store has."""
        stored_nodes = (n for n in self.plan.nodes if self.plan.states.get(n.fingerprint) == "stored")
        return float(sum(size_on_disk(root / node.stage / node.fingerprint) for node in stored_nodes))

    def work_of(self, node: Node) -> Work:
        """Return the work of a node of the plan, whether it is to run or not."""
        return self.works.get(node.fingerprint) or work(node)

    @cached_property
    def downloads(self) -> dict[int | str, int | None]:
        """Missing archives -> bytes, None where unknown; one that collections share counts once."""
        names = (node.params["dataset"] for node in self._missing() if node.stage in PIECES)
        return archives(id for id in dict.fromkeys(names) if id in catalog())

    @cached_property
    def checkpoints(self) -> list[str]:
        """Names of missing checkpoints."""
        return sorted({n.params["name"] for n in self._missing() if n.stage in ("backbone", "released")})

    def _missing(self) -> list[Node]:
        return [n for n in self.nodes if n.fingerprint in self.plan.machine.obstacles]


def estimate(plan: Plan, throughput: Throughput | None, rehearsals: Rehearsals | None = None) -> Estimate:
    """Return the cost of what a plan, once it has looked at a store, has to run."""
    nodes = plan.needed()
    return Estimate(plan, nodes, {node.fingerprint: work(node) for node in nodes}, throughput, rehearsals)


def keep_within(
    plan: Plan, hours: float, throughput: Throughput | None, *, other_machine: bool = False
) -> float:
    """Block the nodes that a budget of hours does not reach; returns the hours of what is left.

    Nodes are taken in the order in which they run, up to the first that would exceed the budget: no later
    one with a cost is taken, so that a larger budget only ever adds. What cannot run here costs nothing.

    Args:
        other_machine: hours are another machine's, which may have the GPU or Java that this one lacks.

    Raises:
        UsageError: there is no throughput to tell hours from, or the budget is negative or not a number.
    """
    if not hours >= 0:
        raise UsageError(f"--max-gpu-hours is {hours}; give a number of hours, 0 or more")
    if throughput is None:
        remedy = "`repro doctor calibrate` measures this machine, --gpu names another"
        raise UsageError(f"a budget needs a throughput: {remedy}")
    spent, is_over = 0.0, False
    cause = f"it lies beyond the budget of {hours:g} {throughput.unit} hours"
    for node in plan.needed():
        cost = throughput.hours(work(node))
        if cost == 0 or _is_blocked(node, plan, other_machine=other_machine):
            continue
        if is_over or cost is None or spent + cost > hours:
            is_over = True
            plan.machine.obstacles[node.fingerprint] = Obstacle(cause, "give more with --max-gpu-hours")
        else:
            spent += cost
    return spent


def _is_blocked(node: Node, plan: Plan, *, other_machine: bool) -> bool:
    """Return whether a node lacks something; of another machine, something besides the machine's own."""
    return any(not (other_machine and o.of_machine) for o in plan.obstacles(node))


class StatedCost(StrictMapping):
    """A sentence of a paper about the cost of one training; null is what it does not say."""

    of: str
    gpus: int | None
    gpu: str | None
    hours: float | None
    where: str

    @property
    def gpu_hours(self) -> float | None:
        """GPUs times hours."""
        return None if self.gpus is None or self.hours is None else self.gpus * self.hours

    def __str__(self) -> str:
        if self.gpus is None:
            return f"{self.of}: not stated"
        hours = "hours not stated"
        if self.hours is not None:
            hours = f"{self.hours:g} h = {self.gpu_hours:,.0f} GPU hours"
        return f"{self.of}: {self.gpus} {self.gpu or 'GPUs of no named kind'}, {hours} ({self.where})"


def stated_costs(source: Paper) -> tuple[StatedCost, ...]:
    """Read what a paper's costs.yaml says of its own trainings; nothing without that file.

    Raises ManifestError with file and line.
    """
    path = source.folder / "costs.yaml"
    return yaml_file.read(path, tuple[StatedCost, ...]) if path.exists() else ()
