"""Cells that mean one quantity, joined by the reports on them, and how near reports come to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.papers import kept_with_papers, papers
from repro.manifest.printed import decimals_of, half_unit, percent
from repro.plugins.reports.others import HOW
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
            value = percent(cell.number, cell.unit)
            numbers[value] = (*numbers.get(value, ()), cell)
        return dict(sorted(numbers.items(), key=lambda item: -len(item[1])))

    @property
    def name(self) -> str:
        """The set and the measure, as the fullest head of a column has them."""
        heads = [cell.column.label for cell in self.cells]
        head, measure = max(heads, key=len), self.cells[0].column.measure
        return head if "@" in head or not measure else f"{head} {measure}"

    @property
    def task(self) -> tuple[str | None, str | None]:
        """The set and the measure."""
        return self.cells[0].column.dataset, self.cells[0].column.measure

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
    """Return every quantity that somebody reports, by system. Raises ManifestError for a bad file."""
    return join_quantities(reports())


def join_quantities(by_cell: Mapping[str, Sequence[CellReport]]) -> list[Quantity]:
    """Return the quantities of reports by cell: cells that share a report are of one."""
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
    """Return the system of a cell; of a row that is a stage or an ablation, that of its group, where it is
    one."""
    system, group = cell.row.system, cell.row.group or ""
    return group if system not in searched_systems() and group in searched_systems() else system


@kept_with_papers
def searched_systems() -> frozenset[str]:
    """Return the systems for which a search is written down."""
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
    """Return every cell of a paper's tables of results that has a published number."""
    return tuple(
        cell for source in papers().values() for cell in numeric_cells(source) if not cell.is_unpublished
    )


def label_of(system: str) -> str:
    """Return the name of a system that most rows give it, without citations in brackets."""
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
    """Return every system of the tables of results, those with a search of their own first, by label."""
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


WHO = {
    "authors": "the authors elsewhere",
    "toolkit": "toolkits",
    "independent": "independent",
    "later-paper": "later papers",
}
WITHIN = (Decimal("0.1"), Decimal("0.5"))  # of a point
OTHERS = "others than the authors"
KINDS = {
    "released model or run": RELEASED,
    "training again": AGAIN,
    "terms indexed again": ("index",),
    "not said how": ("unknown",),
}


COUNTS = (
    *("values", "cells", "distinct numbers", "one value only"),
    *("equal", "equal, of distinct numbers", "equal in every value"),
    *(*(f"within {most}" for most in WITHIN), "median lower", "median higher"),
)


@dataclass(frozen=True)
class Nearness:
    """How near reports of one kind come; cells that one number stands in for are counted one by one.

    Attributes:
        kind, by: how they were made, and the part of these that is counted (who reports, or all).
        reports: entries; one that is on several cells is one.
        cells: with at least one of these reports.
        numbers: distinct ones among the cells.
        single: cells with one of these reports only.
        equal: cells of which at least one report is the published number at the coarser rounding of both.
        equal_numbers: distinct ones that at least one report of one of their cells is, likewise.
        always: cells of which every report is.
        within: cells of which the nearest report is no further away than 0.1, and 0.5, of a point, or equal.
        lower, higher: cells of which the median report lies below, and above, beyond rounding.
        signed, size: the medians over the distinct numbers of the median differences, with and without
            their signs, in points.
    """

    kind: str
    by: str
    reports: int
    cells: int
    numbers: int
    single: int
    equal: int
    equal_numbers: int
    always: int
    within: tuple[int, ...]
    lower: int
    higher: int
    signed: float
    size: float

    @property
    def counts(self) -> tuple[int, ...]:
        """All that is counted, in the order of ``COUNTS``."""
        first = self.reports, self.cells, self.numbers, self.single
        equal_counts = self.equal, self.equal_numbers, self.always
        return (*first, *equal_counts, *self.within, self.lower, self.higher)


@dataclass(frozen=True)
class CellDifferences:
    """One cell beside its reports of one kind.

    Attributes:
        differences: reported less published, in points of a percentage.
        equal: of each report, whether it is the published number at the coarser rounding of both.
    """

    cell: Cell
    differences: tuple[Decimal, ...]
    equal: tuple[bool, ...]

    @property
    def typical(self) -> Decimal:
        """The median difference."""
        return median(self.differences)


def nearnesses(quantities: Sequence[Quantity]) -> list[Nearness]:
    """Return a line for each kind of making in all, then by how it was made, then by who reports."""
    lines = []
    for kind, starts in KINDS.items():
        parts = [("all", starts, tuple(WHO))]
        parts += [(HOW[start], (start,), tuple(WHO)) for start in starts if len(starts) > 1]
        parts += [(OTHERS, starts, tuple(who for who in WHO if who != "authors"))]
        parts += [(name, starts, (who,)) for who, name in WHO.items()]
        lines += [nearness(kind, by, quantities, starts=ways, who=who) for by, ways, who in parts]
    return [line for line in lines if line]


def nearness(
    kind: str, by: str, quantities: Iterable[Quantity], *, starts: Sequence[str], who: Sequence[str]
) -> Nearness | None:
    """Count the reports made and reported so whose match is more than a name; None where there is none."""
    reports, all_differences, medians, equal_numbers = 0, [], [], 0
    for quantity in quantities:
        entries = [e for e in quantity.entries if e.counted and e.start in starts]
        cell_reports = [e.made for e in entries if e.made.source.who in who]
        reports += len(cell_reports)
        for cells in quantity.published.values():
            number_differences = [h for cell in cells if (h := beside(cell, cell_reports))]
            all_differences += number_differences
            medians += [h.typical for h in number_differences[:1]]
            equal_numbers += any(any(h.equal) for h in number_differences)
    if not all_differences:
        return None
    distances = [0 if any(h.equal) else min(map(abs, h.differences)) for h in all_differences]
    sides = [_side(h) for h in all_differences]
    return Nearness(
        kind=kind,
        by=by,
        reports=reports,
        cells=len(all_differences),
        numbers=len(medians),
        single=sum(len(h.differences) == 1 for h in all_differences),
        equal=sum(any(h.equal) for h in all_differences),
        equal_numbers=equal_numbers,
        always=sum(all(h.equal) for h in all_differences),
        within=tuple(sum(least <= most for least in distances) for most in WITHIN),
        lower=sides.count(-1),
        higher=sides.count(1),
        signed=float(median(medians)),
        size=float(median(map(abs, medians))),
    )


def beside(cell: Cell, cell_reports: Iterable[CellReport]) -> CellDifferences | None:
    """Return a cell with those of the reports that name it; None where none does."""
    group = [CellReport(cell, r.report, r.source) for r in cell_reports if cell.id in r.report.cells]
    differences = tuple(percent(r.difference, cell.unit) for r in group if r.report.match in COUNTED)
    return (
        CellDifferences(cell, differences, tuple(r.equals_published for r in group)) if differences else None
    )


def _side(cell_differences: CellDifferences) -> int:
    """-1 where the median lies below the published number by more than its rounding, 1 above, else 0."""
    rounding = percent(half_unit(cell_differences.cell.printed.decimals), cell_differences.cell.unit)
    return 0 if abs(cell_differences.typical) <= rounding else (1 if cell_differences.typical > 0 else -1)
