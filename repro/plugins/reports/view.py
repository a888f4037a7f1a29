"""The command ``repro show others`` and the values on a cell's page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from statistics import median
from typing import NamedTuple

import click

from repro.cli import completion
from repro.cli.options import json_option
from repro.cli.printing import emit_json, say, table
from repro.errors import UsageError, check_known
from repro.exchange.public_runs import cells_of_run, only_scorable, public_runs
from repro.hooks import MAKINGS, CellPart, notes
from repro.manifest.cells import Cell
from repro.manifest.cells import cell as cell_named
from repro.manifest.papers import kept_with_papers, papers
from repro.manifest.printed import half_unit, percent
from repro.plugins.reports.reports import (
    CellReport,
    Search,
    known_cells,
    others_values,
    reports,
    searches,
)

Values = Sequence[CellReport]  # on one cell
WITHIN = (Decimal("0.1"), Decimal("0.5"))  # of a point
OTHERS = "others than the authors"
KINDS = {
    "released model or run": ("checkpoint", "run"),
    "training again": ("trained", "fine-tuned"),
    "terms indexed again": ("index",),
    "not said how": ("unknown",),
}
COUNTS = (
    *("values", "cells", "distinct numbers", "one value only"),
    *("equal", "equal, of distinct numbers", "equal in every value"),
    *(*(f"within {most}" for most in WITHIN), "median lower", "median higher"),
)


@click.command(
    "others",
    epilog="""\b
Examples:
  repro show others
  repro show others PAPER
  repro show others CELL --format json""",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.papers_and_cells)
@click.option("--searches", is_flag=True, help="List the searched places of each system instead.")
@json_option
def command(names, searches, as_json):
    """List values of cells stated by others: toolkits, later papers, and authors outside their papers.

    The first table has a line per cell, e.g. PAPER/1/ROW/COLUMN. The second has the distances from the
    published numbers. No verdict depends on these values.
    """
    _check_names(names)
    if searches:
        if names:
            raise UsageError("--searches cannot be combined with names")
        return _show_searches(as_json)
    by_cell = {id: group for id, group in reports().items() if _is_chosen(id, names)}
    return _print_reports(by_cell, as_json)


def _print_reports(by_cell, as_json: bool) -> int:
    if as_json:
        emit_json([{"cell": id, **r.as_json()} for id, group in by_cell.items() for r in group])
        return 0
    if not by_cell:
        say("No values by others are known for these cells. --searches lists the searched places.")
        return 0
    _print_cells(by_cell)
    rows = [[line.label, *map(str, line.counts), f"{line.size:.2f}"] for line in nearnesses(by_cell)]
    head = ["made how", *COUNTS, "median difference"]
    title = "distances from the published numbers in percentage points, without loose matches"
    table(title, head, rows, right=range(1, len(head)))
    return 0


def _check_names(names) -> None:
    for name in names:
        if "/" in name:
            cell_named(name)
        else:
            check_known("paper", name, valid=papers())


def _print_cells(by_cell) -> None:
    from repro.writers.grid import shown_note

    rows = []
    for cell in (group[0].cell for group in by_cell.values()):
        ordered = notes(cell)
        ends = [choose(ordered, key=lambda note: note.value) for choose in (min, max)]
        least, most, shown = (shown_note(note, cell) for note in (*ends, ordered[0]))
        description = f"{shown} ({ordered[0].label}, {MAKINGS[ordered[0].making]})"
        rows.append([cell.id, cell.printed.plain, str(len(ordered)), least, most, description])
    head = ["cell", "published", "values", "least", "most", "closest in kind"]
    table("", head, rows, right=range(1, 5))


def _is_chosen(id: str, names) -> bool:
    return not names or any(id == name or id.startswith(f"{name}/") for name in names)


def _show_searches(as_json: bool) -> int:
    entries = [search for group in searches().values() for search in group]
    if as_json:
        emit_json([search.model_dump() for search in entries])
        return 0
    counts = _counts({search.id for search in entries})
    places = run_places(cell for cell in known_cells().values() if cell.counted_as == "published")
    rows = []
    for s in sorted(entries, key=lambda search: search.id):
        of_runs = in_words([place for place in places if place.search.id == s.id])
        rows.append([s.id, str(counts[s.id]), of_runs, str(len(s.places)), "; ".join(s.in_vain), s.date])
    head = ["system", "values", "cells by where a run is", "places", "in vain", "last look"]
    table("", head, rows, right=(1, 3))
    print(f"runs of others for the {len(places)} cells of these systems: {in_words(places)}")
    return 0


def _counts(systems) -> dict[str, int]:
    """Return system -> the number of its rows' values."""
    found: dict[str, set[int]] = {system: set() for system in systems}
    for group in reports().values():
        row = group[0].cell.row
        system = row.system if row.system in found else row.group
        if system in found:
            found[system] |= {id(value.report) for value in group}
    return {system: len(values) for system, values in found.items()}


class Nearness(NamedTuple):
    """The distances of one kind of values from the published numbers: a label, e.g. "training again", numbers
    in the order of ``COUNTS``, and the median over distinct numbers of the median distance in points."""

    label: str
    counts: tuple[int, ...]
    size: float


def nearnesses(by_cell: Mapping[str, Values]) -> list[Nearness]:
    """Return a line for each kind, for its makings, and without the authors."""
    numbers, lines = _distinct_numbers(by_cell), []
    for kind, starts in KINDS.items():
        parts = [(kind, starts, True)]
        parts += [(f"– {MAKINGS[start]}", (start,), True) for start in starts if len(starts) > 1]
        parts += [(f"– {OTHERS}", starts, False)]
        lines += [_nearness(label, numbers, ways, authors=authors) for label, ways, authors in parts]
    return [line for line in lines if line]


def _distinct_numbers(by_cell: Mapping[str, Values]) -> list[list[Values]]:
    """Group the values by published number, as several cells may print the same one."""
    parent = {cell: cell for cell in by_cell}

    def root(cell: str) -> str:
        while parent[cell] != cell:
            cell = parent[cell]
        return cell

    for cell, values in by_cell.items():
        for other in {other for value in values for other in value.report.cells if other in by_cell}:
            parent[root(other)] = root(cell)
    numbers: dict[tuple[str, Decimal], list[Values]] = {}
    for name, values in by_cell.items():
        printed = values[0].cell
        numbers.setdefault((root(name), percent(printed.number, printed.unit)), []).append(values)
    return list(numbers.values())


def _nearness(
    label: str, numbers: Iterable[Iterable[Values]], starts: Sequence[str], *, authors: bool
) -> Nearness | None:
    """Count the values of these makings, if any."""
    chosen = [[c for values in cells if (c := _chosen(values, starts, authors))] for cells in numbers]
    chosen = [cells for cells in chosen if cells]
    by_cell = [values for cells in chosen for values in cells]
    if not by_cell:
        return None
    equal = [[value.equals_published for value in values] for values in by_cell]
    distances = [min(0 if v.equals_published else abs(_points(v)) for v in values) for values in by_cell]
    sides = [_side(values) for values in by_cell]
    counts = (
        len({id(value.report) for values in by_cell for value in values}),
        *(len(by_cell), len(chosen), sum(len(values) == 1 for values in by_cell)),
        sum(map(any, equal)),
        sum(any(value.equals_published for values in cells for value in values) for cells in chosen),
        sum(map(all, equal)),
        *(sum(distance <= most for distance in distances) for most in WITHIN),
        *(sides.count(-1), sides.count(1)),
    )
    return Nearness(label, counts, float(median(abs(_typical(cells[0])) for cells in chosen)))


def _chosen(values: Values, starts: Sequence[str], authors: bool) -> list[CellReport]:
    return [
        value
        for value in values
        if value.report.match != "loose"
        and value.report.how.start in starts
        and (authors or value.source.who != "authors")
    ]


def _points(value: CellReport) -> Decimal:
    return percent(value.difference, value.cell.unit)


def _typical(values: Values) -> Decimal:
    return median(map(_points, values))


def _side(values: Values) -> int:
    """Return -1, 0 or 1 for a median below, at or above the rounded number."""
    cell, typical = values[0].cell, _typical(values)
    if abs(typical) <= percent(half_unit(cell.printed.decimals), cell.unit):
        return 0
    return 1 if typical > 0 else -1


class OthersOfCell(CellPart):
    """Others' values of a cell, and the source of a released run among them."""

    def __init__(self, cell: Cell, page: object = None):
        values = others_values(cell)
        super().__init__([report.note for report in values])
        self.source_of_a_run = next((r.source.place for r in values if r.report.how.start == "run"), "")
        self._places = run_places([cell])
        self.facts = {"run_elsewhere": next((place.elsewhere or None for place in self._places), None)}

    def below_measured(self) -> Iterator[tuple[str, str]]:
        """Yield the places of runs that are not at hand."""
        yield from (("run elsewhere", str(p)) for p in self._places if p.elsewhere or not p.at_hand)


@dataclass(frozen=True)
class RunPlace:
    """The known public runs of a cell's system on its collection."""

    cell: Cell
    search: Search

    @cached_property
    def at_hand(self) -> bool:
        """True if public_runs.yaml has a run that is deep enough."""
        return any(cells_of_run(run, [self.cell])[0] for run in public_runs())

    @property
    def elsewhere(self) -> str:
        """The place of a run that is not imported, or ""."""
        return self.search.run_on(self.cell.column.dataset or "")

    def __str__(self) -> str:
        number = len(set(self.search.places))
        return self.elsewhere or f"none found in {number} places (last look {self.search.date})"


def run_places(cells: Iterable[Cell]) -> list[RunPlace]:
    """Return the places of runs for scorable cells of searched systems."""
    found = ((cell, _searches().get(cell.row.system)) for cell in only_scorable(cells))
    return [RunPlace(cell, search) for cell, search in found if search]


def in_words(places: list[RunPlace]) -> str:
    """Return the numbers by place, e.g. "3 at hand, 1 elsewhere, 8 not found"."""
    at_hand = sum(place.at_hand for place in places)
    elsewhere = sum(bool(place.elsewhere) and not place.at_hand for place in places)
    missing = len(places) - at_hand - elsewhere
    return f"{at_hand} at hand, {elsewhere} elsewhere, {missing} not found" if places else "–"


@kept_with_papers
def _searches() -> dict[str, Search]:
    return {search.id: search for group in searches().values() for search in group}
