"""Cells that mean one quantity, joined by the reports on them, so that no report is counted twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.decimals import decimals_of, percent
from repro.manifest.papers import kept_with_papers, papers
from repro.plugins.reports.reports import CellReport, Search, reports, searches

RELEASED = ("checkpoint", "run")
AGAIN = ("trained", "fine-tuned")
COUNTED = ("exact", "close")  # a loose match rests on the name alone: it is shown, and counted nowhere


@dataclass(frozen=True)
class Entry:
    """A report, once, however many cells it is on; values are in percent.

    Attributes:
        made: the report on the first of its cells.
    """

    made: CellReport

    @property
    def value(self) -> Decimal:
        """The reported value."""
        return percent(self.made.value, self.made.cell.unit)

    @property
    def decimals(self) -> int:
        """Digits after the point to which the value is known."""
        return decimals_of(self.value)

    @property
    def start(self) -> str:
        """How the report was made."""
        return self.made.report.how.start

    @property
    def counted(self) -> bool:
        """Whether more than the name says that it is a report on the cell."""
        return self.made.report.match in COUNTED


@dataclass(frozen=True)
class Quantity:
    """One system on one set by one measure: all cells that print it and all reports on it.

    Attributes:
        cells: joined by reports that name several; papers may print different numbers of one quantity.
        entries: each report once.
    """

    system: str
    cells: tuple[Cell, ...]
    entries: tuple[Entry, ...]

    @property
    def published(self) -> dict[Decimal, tuple[Cell, ...]]:
        """Every number that papers print of it, in percent, with its cells; the one printed most first."""
        numbers: dict[Decimal, tuple[Cell, ...]] = {}
        for cell in self.cells:
            value = percent(cell.printed.value, cell.unit)
            numbers[value] = (*numbers.get(value, ()), cell)
        return dict(sorted(numbers.items(), key=lambda item: -len(item[1])))

    @property
    def name(self) -> str:
        """The set and the measure, as the fullest head of a column has them."""
        heads = [cell.column.label for cell in self.cells]
        head, measure = max(heads, key=len), self.cells[0].column.measure
        return head if "@" in head or not measure else f"{head} {measure}"

    @property
    def papers(self) -> frozenset[str]:
        """The papers that print it."""
        return frozenset(cell.paper.name for cell in self.cells)

    @property
    def setting(self) -> str:
        """The shortest id of its rows without the system: the group or stage that tells it from others."""
        rows = (cell.row.id.split(".") for cell in self.cells)
        return min((" ".join(part for part in row if part != self.system) for row in rows), key=len)

    @property
    def span(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest report."""
        values = [entry.value for entry in self.entries]
        return min(values), max(values)


def quantities() -> list[Quantity]:
    """Every quantity that somebody reports, by system. Raises ManifestError for a bad file."""
    return join_quantities(reports())


def join_quantities(by_cell: Mapping[str, Sequence[CellReport]]) -> list[Quantity]:
    """The quantities of reports by cell: cells that share a report are of one."""
    group = {cell: cell for cell in by_cell}

    def first(cell: str) -> str:
        while group[cell] != cell:
            cell = group[cell]
        return cell

    for cell, cell_reports in by_cell.items():
        for other in {other for r in cell_reports for other in r.report.cells if other in by_cell}:
            group[first(other)] = first(cell)
    members: dict[str, list[str]] = {}
    for cell in by_cell:
        members.setdefault(first(cell), []).append(cell)
    joined_quantities = [_quantity([by_cell[cell] for cell in cells]) for cells in members.values()]
    return sorted(joined_quantities, key=lambda quantity: quantity.system)


def _quantity(groups: Sequence[Sequence[CellReport]]) -> Quantity:
    cells = tuple(group[0].cell for group in groups)
    entries = {id(r.report): Entry(r) for group in reversed(groups) for r in reversed(group)}
    systems = Counter(system_of(cell) for cell in cells)
    system = max(systems, key=lambda name: (name in searched_systems(), len(tables_of().get(name, ())), name))
    return Quantity(system, cells, tuple(reversed(entries.values())))


def system_of(cell: Cell) -> str:
    """The system of a cell; of a row that is a stage or an ablation, that of its group, where it is one."""
    system, group = cell.row.system, cell.row.group or ""
    return group if system not in searched_systems() and group in searched_systems() else system


@kept_with_papers
def searched_systems() -> frozenset[str]:
    """The systems for which a search is written down."""
    return frozenset(search.id for folder_searches in searches().values() for search in folder_searches)


@kept_with_papers
def tables_of() -> dict[str, frozenset[str]]:
    """System -> the tables in which it stands."""
    tables: dict[str, set[str]] = {}
    for cell in published_cells():
        tables.setdefault(system_of(cell), set()).add(f"{cell.paper.name}/{cell.table.id}")
    return {system: frozenset(names) for system, names in tables.items()}


@kept_with_papers
def published_cells() -> tuple[Cell, ...]:
    """Every cell of a paper's tables of results that has a published number."""
    return tuple(
        cell for source in papers().values() for cell in numeric_cells(source) if not cell.is_unpublished
    )


def label_of(system: str) -> str:
    """The name of a system that most rows give it, without citations in brackets."""
    rows = Counter(
        re.sub(r"\s*(\[[^]]*\]|\(ours\))", "", cell.row.label)
        for cell in published_cells()
        if cell.row.system == system
    )
    return rows.most_common(1)[0][0] if rows else system


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
