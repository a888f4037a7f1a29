"""Every system of the papers' tables, with the reports on it and the searches that were made for it."""

from __future__ import annotations

from dataclasses import dataclass

from repro.judging.reproduction.quantities import label_of, published_cells, searched_systems, system_of
from repro.manifest.cells import Cell
from repro.manifest.reports import CellReport, Search, reports, searches


@dataclass(frozen=True)
class System:
    """A system and what is known of its reproduction.

    Attributes:
        search: None of a row that is a stage or an ablation of another system.
    """

    id: str
    cells: tuple[Cell, ...]
    reports: tuple[CellReport, ...]
    search: Search | None

    @property
    def label(self) -> str:
        """The name of the system in the tables."""
        return label_of(self.id)

    @property
    def papers(self) -> list[str]:
        """The papers whose tables it stands in."""
        return list(dict.fromkeys(cell.paper.name for cell in self.cells))

    @property
    def cells_with_value(self) -> int:
        """How many of its cells there is a report on."""
        return len({r.cell.id for r in self.reports})

    @property
    def entries(self) -> int:
        """The number of reports, one that is on several cells once."""
        return len({id(r.report) for r in self.reports})

    @property
    def others(self) -> int:
        """The number of entries by somebody other than the system's authors."""
        return self._entries("toolkit", "independent", "later-paper")

    @property
    def authors(self) -> int:
        """The number of entries by its authors, elsewhere than in the paper."""
        return self._entries("authors")

    def _entries(self, *who: str) -> int:
        return len({id(r.report) for r in self.reports if r.source.who in who})


def systems() -> list[System]:
    """Every system of the tables of results, those with a search of their own first, by label."""
    cells: dict[str, list[Cell]] = {}
    for cell in published_cells():
        cells.setdefault(system_of(cell), []).append(cell)
    by_id = {search.id: search for folder_searches in searches().values() for search in folder_searches}
    by_cell = reports()
    unsorted_systems = [
        System(
            name, tuple(group), tuple(r for cell in group for r in by_cell.get(cell.id, ())), by_id.get(name)
        )
        for name, group in cells.items()
    ]
    return sorted(
        unsorted_systems,
        key=lambda system: (system.id not in searched_systems(), system.label.lower(), system.id),
    )
