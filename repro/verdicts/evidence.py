"""The evidence for a verdict on one cell, e.g. records of current measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from repro.graph import Node, walk
from repro.machine import versions
from repro.manifest.cells import Cell
from repro.running.measurement import Measurement, import_of, scoring_settings
from repro.running.plan import Plan
from repro.running.records import member_cells
from repro.running.requirements import Obstacle
from repro.store.results import Identity, Record, join_codes

if TYPE_CHECKING:
    from repro.running.provenance import Origins
    from repro.running.runner import Outcome


@dataclass(frozen=True)
class Evidence:
    """The evidence on one cell.

    Attributes:
        measurements: one per seed. Empty for an average or a cell without a recipe.
        identities: seed -> the identity of a current record.
        records: of the cell at the plan's scale, oldest first.
        other_results: newer records of the same scores, then stored scores.
    """

    cell: Cell
    plan: Plan
    measurements: Sequence[Measurement]
    identities: dict[int | None, Identity]
    records: Sequence[Record]
    other_results: Sequence[Record]
    outcome: Outcome | None
    origins: Origins | None = None
    on_record: Mapping[Identity, Sequence[Record]] = field(default_factory=dict)

    @cached_property
    def measured_by(self) -> list[Measurement]:
        """The measurements of the cell or its averaged parts."""
        if not self.cell.column.mean_of:
            return list(self.measurements)
        member_ids = member_cells(self.cell)
        return [m for m in self.plan.measurements if m.cell.id in member_ids]

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {node.fingerprint: node for m in self.measured_by for node in walk(m.parts)}

    @cached_property
    def departures(self) -> dict[str, str]:
        """Readings with a choice other than the default."""
        return {reading: choice for m in self.measured_by for reading, choice in m.departures.items()}

    @cached_property
    def authors_model(self) -> str:
        """The choices that use the authors' own model, in words, or ""."""
        readings = self.cell.paper.readings
        choices = self.departures.items()
        if not choices or any(r not in readings or c not in readings[r].released for r, c in choices):
            return ""
        return f"with the authors' own model ({', '.join(f'{r} is {c}' for r, c in choices)})"

    @cached_property
    def definition(self) -> tuple[str, str]:
        measures = [measure for _, measure, _ in self.identities.values()] or [self.cell.column.measure or ""]
        return measures[0], self.cell.unit

    @cached_property
    def of_readings(self) -> list[Record]:
        return [r for r in self.records if r.readings == self.departures and not r.origin]

    @cached_property
    def older(self) -> list[Record]:
        """The newest record per seed of any version of the recipe, if possible of the requested seeds."""
        records = [r for r in self.records if is_measurement(r, *self.definition, self.departures)]
        seeds = {m.seed for m in self.measured_by}
        return newest([r for r in records if r.seed in seeds] or records)

    @cached_property
    def current(self) -> list[tuple[Record, Record | None]]:
        """Current records, each with the result that contradicts it, if any."""
        identities, by_identity = set(self.identities.values()), {r.identity: r for r in self.other_results}
        records = newest(r for r in self.of_readings if r.identity in identities)
        pairs = ((r, by_identity.get(r.identity, r)) for r in records)
        return [
            (_complete_record(r, other), None) if other.result == r.result else (r, other)
            for r, other in pairs
        ]

    def rivals(self, records: Iterable[Record]) -> list[str]:
        """Return differing results recorded for the same evaluations, e.g. "0.5 (a/1/b/dev, 2026-01-02)"."""
        own_results = [r.result for r, result in self.current if result]
        by_result = {
            other.result: f"{other.measured:.10g} ({other.cell}, {other.recorded})"
            for r in records
            for other in sorted(self.on_record.get(r.identity, ()), key=lambda other: other.cell == r.cell)
            if other.result not in (r.result, *own_results)
        }
        return list(by_result.values())

    @cached_property
    def imported(self) -> list[Record]:
        """The newest record of each run by others scored like the cell."""
        substituted = {reading for m in self.measured_by for reading in m.substitutes}
        by_identity: dict[tuple, Record] = {}
        for r in self.records:
            if r.origin and self._scored_alike(r):
                by_identity.pop(r.identity, None)
                by_identity[r.identity] = r
        runs = sorted(by_identity.values(), key=lambda r: not r.readings)
        chosen = self.departures.keys() - substituted
        return [r for r in runs if all(r.readings.get(name) == self.departures[name] for name in chosen)]

    @cached_property
    def collections(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(identifier for m in self.measured_by for identifier in m.collections))

    @property
    def cut_at(self) -> int | None:
        return min((m.cut_at for m in self.measured_by if m.cut_at), default=None)

    def planned_code(self, record: Record) -> str:
        """Return the code digest that the current code would give a record."""
        from repro.running.provenance import planned_code

        seeds = [seed for seed, identity in self.identities.items() if identity == record.identity]
        codes = [planned_code(m.parts) for m in self.measured_by if m.seed in seeds[:1]]
        return join_codes(codes) if self.cell.column.mean_of or not codes else codes[0]

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        nodes = [part for m in self.measured_by for part in m.parts]
        return tuple(dict.fromkeys(o for node in nodes for o in self.plan.obstacles(node)))

    @cached_property
    def absent_data(self) -> tuple[str, ...]:
        obstacles = self.plan.machine.obstacles
        nodes = walk(part for m in self.measured_by for part in m.parts)
        absent = (obstacles.get(node.fingerprint) for node in nodes if "identity" in node.params)
        return tuple(obstacle.short for obstacle in absent if obstacle and not obstacle.of_machine)

    def _scored_alike(self, record: Record) -> bool:
        if not self.cell.column.dataset or (record.measure, record.unit) != self.definition:
            return False
        measurement, machine = (*self.measurements, None)[0], self.plan.machine
        scoring = import_of(self.cell, measurement, machine, {"sha256": record.origin["sha256"]})
        if any(parent.fingerprint in machine.obstacles for parent in scoring.parts[0].parents()):
            return scoring_settings(scoring).items() <= record.origin.items()
        return record.fingerprint == scoring.fingerprint


def _complete_record(record: Record, other: Record) -> Record:
    if not other.is_better_documented_than(record):
        return record
    names = ("collections", "deviation", "code", "commits", "rows")
    return replace(record, **{name: getattr(other, name) or getattr(record, name) for name in names})


def is_measurement(record: Record, measure: str, unit: str, readings: Mapping[str, str]) -> bool:
    """Return whether a record is ours and has this unit, measure ("" for any) and these readings."""
    is_defined_so = record.unit == unit and measure in ("", record.measure)
    return is_defined_so and record.readings == readings and not record.origin


def newest(records: Iterable[Record]) -> list[Record]:
    """Return the last record of every seed."""
    last_by_seed = {r.seed: (number, r) for number, r in enumerate(records)}
    distinct = {r.identity: r for _, r in sorted(last_by_seed.values(), key=lambda pair: pair[0])}
    return sorted(distinct.values(), key=lambda r: (r.seed is not None, r.seed or 0))


class Circumstances(NamedTuple):
    """Versions and kernels of one artefact or record. ``sums`` is True if kernels affect its sums."""

    software: Mapping[str, str]
    kernels: Mapping[str, Any]
    sums: bool


def circumstances(evidence: Evidence | None, records: Sequence[Record]) -> Iterator[Circumstances]:
    """Yield the circumstances of stored artefacts, and of records unless all artefacts are here."""
    nodes = evidence.nodes if evidence and evidence.current else {}
    stored = evidence.origins.environments if evidence and evidence.origins else {}
    for name in nodes.keys() & stored.keys():
        yield _circumstances_of(stored[name], versions.LIBRARIES, {nodes[name].stage})
    if not nodes or not nodes.keys() <= stored.keys():
        stages = _stages(evidence)
        for record in records:
            yield _circumstances_of(record.environment, versions.used_by(stages), stages)


def other_libraries(made: Iterable[Circumstances]) -> list[str]:
    """Return the libraries that differ here, e.g. ["torch 1.0.0 (here 2.13.0)"]."""
    named = (versions.differing(one.software).values() for one in made)
    return sorted({sentence for sentences in named for sentence in sentences})


def libraries_not_compared(evidence: Evidence, made: Iterable[Circumstances]) -> tuple[str, ...]:
    """Return a number's libraries that are absent here or not recorded."""
    software = [one.software for one in made]
    compared = {name for one in software for name in versions.comparable(one)}
    return tuple(
        name
        for name in versions.used_by(_stages(evidence))
        if name not in compared and (versions.installed(name) or any(name in one for one in software))
    )


def other_kernels(evidence: Evidence | None, made: Iterable[Circumstances]) -> list[str]:
    """Return the kernels that are not the pinned ones, e.g. ["MKL_CBWR AVX2 (pinned: COMPATIBLE)"]."""
    if evidence is None or not evidence.plan.scale.pins_kernels:
        return []
    from repro.machine import kernels

    return sorted({s for one in made for s in kernels.unlike_pinned(one.kernels, needed=one.sums)})


def _stages(evidence: Evidence | None) -> set[str]:
    return {node.stage for node in evidence.nodes.values()} if evidence else {"evaluate"}


def _circumstances_of(environment: Mapping, names: Iterable[str], stages: set[str]) -> Circumstances:
    software = environment.get("software") or {}
    has_gpu = (environment.get("hardware") or {}).get("gpu")
    return Circumstances(
        {name: software[name] for name in names if name in software},
        environment.get("kernels") or {},
        bool(stages & versions.SUMMING) and not has_gpu,
    )
