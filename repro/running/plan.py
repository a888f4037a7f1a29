"""A plan: the nodes of selected cells, with states and obstacles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from repro.errors import UsageError, check_known
from repro.graph import Node, grouped, walk
from repro.manifest.cells import Cell, ShownExhibit, cells_of
from repro.manifest.reading_schema import Reading
from repro.running import measurement, recipe_calls
from repro.running.requirements import Machine, NodeObstacles, Obstacle
from repro.running.scale import Scale
from repro.store import Store

PLACES = ("paper", "table", "row")


@dataclass
class Plan:
    """The nodes that selected cells need at a scale.

    Attributes:
        exhibits: nodes of drawings.
        departures: choices of exhibits other than the default.
        states: by fingerprint, e.g. "stored", after ``look``.
    """

    scale: Scale
    cells: list[Cell]
    measurements: list[measurement.Measurement]
    machine: Machine
    exhibits: dict[ShownExhibit, Node] = field(default_factory=dict)
    departures: dict[ShownExhibit, dict[str, str]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    @cached_property
    def nodes(self) -> list[Node]:
        """Distinct nodes, inputs first."""
        return walk(self.ends)

    def of_table(self, paper: str, table: str) -> Plan:
        place = paper, table
        own = [m for m in self.measurements if (m.cell.paper.name, m.cell.table.id) == place]
        return replace(self, measurements=own)

    def split(self, by: str) -> dict[str, Plan]:
        """Return the plan of each ``paper``, ``table`` or ``row``."""
        depth = 1 + PLACES.index(by)
        places: dict[str, Plan] = {}

        def part(identifier: str) -> Plan:
            place = "/".join(identifier.split("/")[:depth])
            return places.setdefault(place, replace(self, measurements=[], exhibits={}))

        for m in self.measurements:
            part(m.cell.id).measurements.append(m)
        for item, node in self.exhibits.items():
            part(item.id).exhibits[item] = node
        return places

    @property
    def ends(self) -> list[Node]:
        """The last nodes of all graphs: evaluations of cells, and exhibits."""
        return [part for m in self.measurements for part in m.parts] + list(self.exhibits.values())

    @property
    def asked(self) -> int:
        """The number of stages that would run if rows shared none."""
        rows = grouped(((m.cell.row_path, m.seed), part) for m in self.measurements for part in m.parts)
        exhibits = ([n] for n in self.exhibits.values())
        return sum(len(walk(parts)) for parts in (*rows.values(), *exhibits))

    def look(self, store: Store) -> None:
        self.states = {n.fingerprint: store.state(n) for n in self.nodes}

    def needed(self) -> list[Node]:
        """Return the nodes to run, inputs first."""
        return walk(self.ends, until=lambda node: self.states[node.fingerprint] == "stored")

    def obstacles(self, node: Node) -> list[Obstacle]:
        obstacles: dict[Obstacle, None] = {}
        seen, pending = set[str](), [node]
        while pending:
            each = pending.pop()
            if each.fingerprint not in seen and self.states.get(each.fingerprint) != "stored":
                seen.add(each.fingerprint)
                if obstacle := self.machine.obstacles.get(each.fingerprint):
                    obstacles.setdefault(obstacle)
                pending += reversed(each.parents())
        return list(obstacles)

    @property
    def lacking(self) -> NodeObstacles:
        """The obstacles of the nodes to run."""
        obstacles = (self.machine.obstacles.get(n.fingerprint) for n in self.needed())
        return NodeObstacles(filter(None, obstacles))


def plan(
    cells: list[Cell],
    *,
    scale: Scale,
    machine: Machine,
    seeds: tuple[int, ...] = (),
    overrides: Mapping[str, str] | None = None,
    exhibits: Sequence[ShownExhibit] = (),
) -> Plan:
    """Return the plan of cells and exhibits on this machine.

    ``overrides`` maps readings to choices. Without ``seeds``, each paper's own seed is used.

    Raises:
        UsageError: no selected row has an overridden reading.
        ManifestError: a dataset, measure, recipe or option is unknown.
    """
    overrides = overrides or {}
    _check_overrides(overrides, [*cells, *exhibits])
    builder = measurement.MeasurementBuilder(scale, machine, overrides)
    measurements = [
        builder.measure(cell, seed)
        for cell in evaluated_cells(cells)
        if recipe_calls.is_made_at(cell, scale)
        for seed in seeds or (None,)
    ]
    result = Plan(scale, cells, measurements, machine)
    for item in (shown for shown in exhibits if recipe_calls.is_made_at(shown, scale)):
        node, departures = builder.exhibit(item, seeds[0] if seeds else None)
        result.exhibits[item], result.departures[item] = node, departures
    _check_overrides_matter(overrides, builder.asked_for())
    machine.offer_full_precision(builder.in_full_precision())
    return result


def evaluated_cells(cells: list[Cell]) -> list[Cell]:
    by_id = {c.id: c for c in cells}
    for cell in cells:
        members = {f"{cell.row_path}/{column}" for column in cell.column.mean_of}
        for member in cells_of(cell.paper, (cell.table,)) if members else ():
            if member.id in members:
                by_id.setdefault(member.id, member)
    return [c for c in by_id.values() if c.column.dataset and c.column.measure]


def _check_overrides(overrides: Mapping[str, str], items: Iterable[Cell | ShownExhibit]) -> None:
    valid_readings: dict[str, Reading] = {}
    for cell in items if overrides else ():
        valid_readings |= (
            recipe_calls.readings_for(cell.paper, recipe_calls.recipe_path(cell))
            if cell.recipe
            else cell.paper.readings
        )
    hint = "`repro show readings PAPER` lists them."
    check_known("reading of the selected papers", *overrides, valid=valid_readings, hint=hint)
    for identifier, choice in overrides.items():
        choices = valid_readings[identifier].choices
        check_known("choice", choice, valid=choices, owner=f"reading {identifier}")


def _check_overrides_matter(overrides: Mapping[str, str], requested_ids: set[str]) -> None:
    for identifier in overrides:
        if identifier not in requested_ids:
            names = ", ".join(sorted(requested_ids)) or "none"
            reason = "no recipe of the selected cells uses it"
            raise UsageError(f"reading {identifier!r} changes nothing: {reason}. Used readings: {names}.")
