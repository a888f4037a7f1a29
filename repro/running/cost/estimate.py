"""The cost of what a plan still has to run: hours, disk, downloads, and a budget of hours."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from repro.errors import UsageError
from repro.graph import Node
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.fetching import archives
from repro.running.cost.rehearsals import Rehearsals, kind_of
from repro.running.cost.throughput import Throughput
from repro.running.cost.work import Batching, Work, work
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
        rehearsals: times by kind of node that this machine measured; none where another is meant.
    """

    plan: Plan
    nodes: list[Node]
    works: Mapping[str, Work]
    throughput: Throughput | None
    rehearsals: Rehearsals = field(default_factory=dict)

    def hours(self, nodes: Iterable[Node]) -> float | None:
        """Return the hours of ``nodes``, rehearsed ones by that and others by operations; None where none is
        known."""
        parts = [self.hours_of(n) for n in nodes if n.fingerprint in self.works]
        return None if self.throughput is None and not any(parts) else sum(hours or 0 for hours in parts)

    def hours_of(self, node: Node) -> float | None:
        """Return the hours of one node; None where they cannot be told."""
        rehearsed_hours = self.rehearsed(node)
        if rehearsed_hours is not None or self.throughput is None:
            return rehearsed_hours
        return self.throughput.hours(self.work_of(node))

    def hours_in_words(self, nodes: Sequence[Node]) -> str:
        """Return the hours to run ``nodes``, from the least to the most where nothing was measured."""
        most, fastest = self.hours(nodes) or 0.0, self.throughput and self.throughput.fastest
        least = replace(self, throughput=fastest).hours(nodes) if fastest else None
        words = f"{most:,.1f}"
        return words if least is None or f"{least:,.1f}" == words else f"{least:,.1f} to {words}"

    def rehearsed(self, node: Node) -> float | None:
        """Return the hours of a node by the rehearsal of its kind; None without one."""
        measured = self.rehearsals.get(kind_of(node)) if self.rehearsals else None
        return measured.hours(node) if measured else None

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
        unrehearsed = (n for n in nodes if n.fingerprint in self.works and self.rehearsed(n) is None)
        return sum(self.works[n.fingerprint].core_seconds or 0 for n in unrehearsed) / 3600

    def disk(self, stages: frozenset[str] = frozenset(), *, before: float = 0.0) -> list[MemoryLevel]:
        """Return the bytes of the store as nodes are run and used ones go; ``before`` is its size now."""

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
    """Return the cost of what a plan that has looked at a store has to run, as REPRO_ variables say."""
    nodes, batching = plan.needed(), Batching.of(os.environ, throughput.memory if throughput else None)
    works = {node.fingerprint: work(node, batching) for node in nodes}
    return Estimate(plan, nodes, works, throughput, rehearsals or {})


def keep_within(cost: Estimate, hours: float, *, other_machine: bool = False) -> float:
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
    if cost.throughput is None:
        remedy = "`repro doctor calibrate` measures this machine, --gpu names another"
        raise UsageError(f"a budget needs a throughput: {remedy}")
    spent, is_over, plan = 0.0, False, cost.plan
    cause = f"it lies beyond the budget of {hours:g} {cost.throughput.unit} hours"
    for node in cost.nodes:
        node_hours, obstacles = cost.hours_of(node), plan.obstacles(node)
        if node_hours == 0 or any(not (other_machine and o.of_machine) for o in obstacles):
            continue
        if is_over or node_hours is None or spent + node_hours > hours:
            is_over = True
            plan.machine.obstacles[node.fingerprint] = Obstacle(cause, "give more with --max-gpu-hours")
        else:
            spent += node_hours
    return spent
