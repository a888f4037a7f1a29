"""Where runs of others lie that a cell could be scored by: at hand, elsewhere, or nowhere found."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from repro.exchange.public_runs import cells_of_run, only_scorable, public_runs
from repro.manifest.cells import Cell
from repro.manifest.papers import kept_with_papers
from repro.plugins.reports.reports import Search, searches


@dataclass(frozen=True)
class RunPlace:
    """What is known of public runs of a cell's system on its collection."""

    cell: Cell
    search: Search

    @cached_property
    def at_hand(self) -> bool:
        """Whether public_runs.yaml has one that is deep enough."""
        return any(cells_of_run(run, [self.cell])[0] for run in public_runs())

    @property
    def elsewhere(self) -> str:
        """Return where one lies that nobody imported, in words; empty where none was found."""
        return self.search.run_on(self.cell.column.dataset or "")

    def __str__(self) -> str:
        number = len(set(self.search.places))
        return self.elsewhere or f"none found in {number} places (last look {self.search.date})"


def run_places(cells: Iterable[Cell]) -> list[RunPlace]:
    """Return the places of those cells that a run can be scored for, and whose own system was looked for."""
    found = ((cell, _searches().get(cell.row.system)) for cell in only_scorable(cells))
    return [RunPlace(cell, search) for cell, search in found if search]


def in_words(places: list[RunPlace]) -> str:
    """Return for how many cells a run is at hand, lies elsewhere only, or was not found."""
    at_hand = sum(place.at_hand for place in places)
    elsewhere = sum(bool(place.elsewhere) and not place.at_hand for place in places)
    missing = len(places) - at_hand - elsewhere
    return f"{at_hand} at hand, {elsewhere} elsewhere, {missing} not found" if places else "–"


@kept_with_papers
def _searches() -> dict[str, Search]:
    return {search.id: search for group in searches().values() for search in group}
