"""Others' values of a cell as notes, and places of runs, e.g. "run elsewhere" if one is not imported."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from repro.exchange.public_runs import cells_of_run, only_scorable, public_runs
from repro.hooks import CellPart
from repro.manifest.cells import Cell
from repro.manifest.papers import kept_with_papers
from repro.plugins.reports.reports import Search, others_values, searches


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
    """Return one RunPlace per cell that a run could be scored for. Leaves out the cells of systems whose
    public runs nobody searched for."""
    found = ((cell, _searches().get(cell.row.system)) for cell in only_scorable(cells))
    return [RunPlace(cell, search) for cell, search in found if search]


def in_words(places: list[RunPlace]) -> str:
    """Return the number of cells by place, e.g. "3 at hand, 1 elsewhere, 8 not found"."""
    at_hand = sum(place.at_hand for place in places)
    elsewhere = sum(bool(place.elsewhere) and not place.at_hand for place in places)
    missing = len(places) - at_hand - elsewhere
    return f"{at_hand} at hand, {elsewhere} elsewhere, {missing} not found" if places else "–"


@kept_with_papers
def _searches() -> dict[str, Search]:
    return {search.id: search for group in searches().values() for search in group}
