"""The cost of a study's trainings: operations, seconds and hours."""

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from repro.graph import Node, grouped, walk
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.stage_table import TRAININGS


class TrainingStore(Protocol):
    """A store, or an object with the records of trainings alone."""

    def state(self, node: Node) -> str:
        """Return ``stored`` if the training is known."""

    def record(self, node: Node) -> Mapping:
        """Return a stored node's record, with ``facts``."""


@dataclass(frozen=True)
class Cost:
    """Mean operations and seconds of the pre-training that only this row uses.

    The seconds of an interrupted training are extrapolated from its last attempt.
    """

    flops: float | None
    seconds: float | None


def costs(plan: Plan, store: TrainingStore) -> dict[str, Cost]:
    """Return row, e.g. "bert", -> the mean cost of its stored pre-trainings that no other row uses."""
    facts = grouped(
        (row, store.record(node)["facts"])
        for row, node in _own_pretrainings(plan.measurements)
        if store.state(node) == "stored"
    )
    return {row: _cost(known) for row, known in facts.items()}


def _cost(facts: Sequence[Mapping]) -> Cost:
    return Cost(_mean([f.get("flops") for f in facts]), _mean([_seconds(f) for f in facts]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None


def _own_pretrainings(measurements: Iterable[Measurement]) -> Iterator[tuple[str, Node]]:
    rows: dict[str, dict[str, Node]] = {}
    for m in measurements:
        pretrainings = (node for node in walk(m.parts) if node.stage == "pretrain")
        rows.setdefault(m.cell.row.id, {}).update((node.fingerprint, node) for node in pretrainings)
    counts = Counter(fingerprint for nodes in rows.values() for fingerprint in nodes)
    for row, nodes in rows.items():
        yield from ((row, node) for fingerprint, node in nodes.items() if counts[fingerprint] == 1)


def training_hours(plan: Plan, store: TrainingStore) -> dict[str, float]:
    """Return cell -> the hours of its trainings, averaged over the seeds with all hours known."""
    trainings = ((m.cell.id, _trainings(m.parts)) for m in plan.measurements)
    hours = grouped(
        (cell, sum_of_hours)
        for cell, nodes in trainings
        if nodes and (sum_of_hours := _hours(nodes, store)) is not None
    )
    return {cell: statistics.fmean(seed_hours) for cell, seed_hours in hours.items()}


def row_hours(plan: Plan, store: TrainingStore) -> dict[str, float]:
    """Return row -> the training hours of its most expensive column."""
    by_cell = training_hours(plan, store)
    hours: dict[str, float] = {}
    for m in plan.measurements:
        if m.cell.id in by_cell:
            hours[m.cell.row.id] = max(hours.get(m.cell.row.id, 0.0), by_cell[m.cell.id])
    return hours


def total_hours(plan: Plan, store: TrainingStore) -> float | None:
    """Return the hours of all stored trainings, or None if one is unknown."""
    trainings = _trainings(part for m in plan.measurements for part in m.parts)
    return _hours([node for node in trainings if store.state(node) == "stored"], store)


def untrained_rows(plan: Plan) -> list[str]:
    trained = {m.cell.row.id for m in plan.measurements if _trainings(m.parts)}
    return [row for row in dict.fromkeys(m.cell.row.id for m in plan.measurements) if row not in trained]


def _trainings(parts: Iterable[Node]) -> list[Node]:
    return [node for node in walk(parts) if node.stage in TRAININGS]


def _hours(trainings: Sequence[Node], store: TrainingStore) -> float | None:
    facts = [store.record(node)["facts"] for node in trainings if store.state(node) == "stored"]
    known = [s for s in map(_seconds, facts) if s is not None]
    return sum(known) / 3600 if len(known) == len(trainings) else None


def _seconds(facts: Mapping) -> float | None:
    steps = facts["steps"] - facts.get("resumed_at", 0)  # in the attempt that ended
    return facts["seconds"] * facts["steps"] / steps if steps else None
