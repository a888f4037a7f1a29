"""Run a rehearsal of a plan, each stage in its own process, and extrapolate."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import BlockedError, StageError, UsageError
from repro.graph import Node
from repro.machine.system import cores
from repro.progress import Progress
from repro.running import discarding, requirements, run_progress, runner, scale_facts
from repro.running.cost.rehearsals import RehearsedNode, pairs, rehearsed_cost
from repro.running.cost.work import work
from repro.running.engines.child import Child, stop
from repro.running.engines.inline import ensure
from repro.running.plan import Plan
from repro.store import Store, leftovers

LOOK = 0.05


@dataclass(frozen=True)
class Rehearsal:
    """The cost of each node at full scale. ``left_out`` are nodes without one, with reasons."""

    plan: Plan
    nodes: list[RehearsedNode]
    left_out: list[tuple[Node, str]]
    outcome: runner.Outcome = field(default_factory=runner.Outcome)

    @property
    def hours(self) -> float:
        return sum(node.whole_seconds or 0 for node in self.nodes) / 3600

    @property
    def uncounted(self) -> list[Node]:
        unknown_nodes = [node.node for node in self.nodes if node.whole_seconds is None]
        return unknown_nodes + [node for node, _ in self.left_out]

    @property
    def disk_bytes(self) -> float:
        return sum(node.whole_disk_bytes or 0 for node in self.nodes)

    def fullest(self, discarded: frozenset[str] = frozenset()) -> float:
        """Return the store's largest bytes, if artefacts of stages ``discarded`` are removed after use."""
        by_fingerprint = {each.node.fingerprint: each.whole_disk_bytes for each in self.nodes}

        def sizes(node: Node) -> tuple[float, float]:
            estimate = work(node)
            return by_fingerprint.get(node.fingerprint) or estimate.stored or 0.0, estimate.beside

        nodes = self.plan.nodes
        consumers = discarding.Consumers(self.plan.ends, nodes, nodes, (), discarded)
        level = discarding.fullest_level(
            discarding.levels(discarding.readers_first(nodes, discarded), consumers, sizes)
        )
        return level.during if level else 0.0

    @property
    def largest(self) -> RehearsedNode | None:
        return max(self.nodes, key=lambda node: node.whole_peak_bytes or 0, default=None)


def rehearse(whole: Plan, plan: Plan, store: Store, progress: Progress) -> Rehearsal:
    """Run ``plan``, a rehearsal of the plan ``whole``, and extrapolate its cost.

    Raises UsageError if its scale replaces data or models, or reads all rows.
    """
    if not plan.scale.has_originals:
        reason = f"scale {plan.scale.name} does not use the papers' data and checkpoints"
        raise UsageError(f"{reason}, so it cannot predict the cost. Use a scale like rehearsal.")
    if plan.scale.facts.first == scale_facts.RowCounts():
        reason = f"scale {plan.scale.name} reads all rows and would be run as a whole"
        raise UsageError(f"{reason}. Remove --scale, or limit the rows under first in its file.")
    outcome = ensure(
        plan.ends,
        store,
        progress,
        machine=plan.machine,
        options=runner.Options(may_discard=False),
        places=run_progress.places(plan),
        run=run_apart,
    )
    return extrapolated(whole, plan, store, outcome)


def extrapolated(whole: Plan, plan: Plan, store: Store, outcome: runner.Outcome) -> Rehearsal:
    """Return the cost of ``whole`` by its stored rehearsal."""
    nodes, left_out = [], []
    for large, small in pairs(whole, plan).values():
        if store.state(small) == "stored":
            nodes.append(rehearsed_cost(large, small, store))
        else:
            obstacles = outcome.blocked.get(small.fingerprint, ["it was not run"])
            left_out.append((large, str(outcome.failed.get(small.fingerprint, obstacles[0]))))
    return Rehearsal(whole, nodes, left_out, outcome)


def run_apart(node: Node, store: Store, progress: Progress) -> Path:
    """Build the node from scratch in its own process. Raises StageError or BlockedError."""
    if (partial_folder := store.partial(node)).exists():
        leftovers.remove_leftover(
            store, leftovers.Leftover("partial", partial_folder, node.stage, node.fingerprint, 0)
        )
    child = Child(node, store, threads=cores(), gpus=None)
    try:
        while not child.ended():
            time.sleep(LOOK)
    finally:
        stop([child] if child.process.poll() is None else [])
    result = child.result()
    if isinstance(result, requirements.Obstacle):
        raise BlockedError(result.cause, result.remedy)
    if result is not None:
        raise StageError(result)
    return store.path(node)
