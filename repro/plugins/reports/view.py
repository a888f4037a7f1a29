"""The command ``repro show others`` and the values on a cell's page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import click

from repro.cli import completion, options
from repro.cli.printing import emit_json, say, table
from repro.errors import UsageError, check_known
from repro.exchange.public_runs import cells_of_run, only_scorable, public_runs
from repro.hooks import MAKINGS, CellPart, notes
from repro.manifest.cells import Cell
from repro.manifest.cells import cell as cell_named
from repro.manifest.papers import kept_with_papers, papers
from repro.plugins.reports import reports as file
from repro.plugins.reports.reports import Search


@click.command(
    "others",
    epilog="""\b
Examples:
  repro show others
  repro show others PAPER
  repro show others CELL --format json""",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.names)
@click.option("--searches", is_flag=True, help="List the searched places of each system instead.")
@options.json_option
def command(names, searches, as_json):
    """List values of cells stated by others: toolkits, later papers, and authors outside their papers.

    The table has a line per cell, e.g. PAPER/1/ROW/COLUMN. No verdict depends on these values.
    """
    _check_names(names)
    if searches:
        if names:
            raise UsageError("--searches cannot be combined with names")
        return _show_searches(as_json)
    by_cell = {id: group for id, group in file.reports().items() if _is_chosen(id, names)}
    if as_json:
        return emit_json([{"cell": id, **r.as_json()} for id, group in by_cell.items() for r in group])
    if not by_cell:
        return say("No values by others are known for these cells. --searches lists the searched places.")
    _print_cells(by_cell)


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


def _show_searches(as_json: bool) -> None:
    entries = [search for group in file.searches().values() for search in group]
    if as_json:
        return emit_json([search.model_dump() for search in entries])
    counts = _counts({search.id for search in entries})
    places = run_places(c for c in file.known_cells().values() if c.counted_as == "published")
    rows = []
    for s in sorted(entries, key=attrgetter("id")):
        of_runs = in_words([place for place in places if place.search.id == s.id])
        rows.append([s.id, str(counts[s.id]), of_runs, str(len(s.places)), "; ".join(s.in_vain), s.date])
    head = ["system", "values", "cells by where a run is", "places", "in vain", "last look"]
    table("", head, rows, right=(1, 3))
    print(f"runs by others for the {len(places)} cells of these systems: {in_words(places)}")


def _counts(systems) -> dict[str, int]:
    found: dict[str, set[int]] = {system: set() for system in systems}
    for group in file.reports().values():
        row = group[0].cell.row
        system = row.system if row.system in found else row.group
        if system in found:
            found[system] |= {id(value.report) for value in group}
    return {system: len(values) for system, values in found.items()}


class OthersOfCell(CellPart):
    def __init__(self, cell: Cell, page: object = None):
        values = file.others_values(cell)
        super().__init__([report.note for report in values])
        self.source_of_a_run = next((r.source.place for r in values if r.report.how.start == "run"), "")
        self._places = run_places([cell])
        self.facts = {"run_elsewhere": next((place.elsewhere or None for place in self._places), None)}

    def below_measured(self) -> Iterator[tuple[str, str]]:
        yield from (("run elsewhere", str(p)) for p in self._places if p.elsewhere or not p.at_hand)


@dataclass(frozen=True)
class RunPlace:
    """The known public runs of a cell's system on the cell's collection."""

    cell: Cell
    search: Search

    @cached_property
    def at_hand(self) -> bool:
        """True if public_runs.yaml lists a run that is deep enough for the cell."""
        return any(cells_of_run(run, [self.cell])[0] for run in public_runs())

    @property
    def elsewhere(self) -> str:
        """The place of a released run by the search, or ""."""
        return self.search.run_on(self.cell.column.dataset or "")

    def __str__(self) -> str:
        number = len(set(self.search.places))
        return self.elsewhere or f"none found in {number} places (last look {self.search.date})"


def run_places(cells: Iterable[Cell]) -> list[RunPlace]:
    found = ((c, _searches().get(c.row.system)) for c in only_scorable(cells))
    return [RunPlace(cell, search) for cell, search in found if search]


def in_words(places: list[RunPlace]) -> str:
    """Count cells by the place of a run, e.g. "3 at hand, 1 elsewhere, 8 not found"."""
    at_hand = sum(place.at_hand for place in places)
    elsewhere = sum(bool(place.elsewhere) and not place.at_hand for place in places)
    missing = len(places) - at_hand - elsewhere
    return f"{at_hand} at hand, {elsewhere} elsewhere, {missing} not found" if places else "–"


@kept_with_papers
def _searches() -> dict[str, Search]:
    return {search.id: search for group in file.searches().values() for search in group}
