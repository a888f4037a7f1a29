"""Cells in which reports of one kind give the published number, and the side on which the others lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from repro.manifest.cells import Cell
from repro.manifest.decimals import half_unit, percent
from repro.plugins.reports.others import HOW
from repro.plugins.reports.quantities import AGAIN, COUNTED, RELEASED, Quantity
from repro.plugins.reports.reports import CellReport

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
    """A line for each kind of making in all, then by how it was made, then by who reports."""
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
    """A cell with those of the reports that name it; None where none does."""
    group = [CellReport(cell, r.report, r.source) for r in cell_reports if cell.id in r.report.cells]
    differences = tuple(percent(r.difference, cell.unit) for r in group if r.report.match in COUNTED)
    return (
        CellDifferences(cell, differences, tuple(r.equals_published for r in group)) if differences else None
    )


def _side(cell_differences: CellDifferences) -> int:
    """-1 where the median lies below the published number by more than its rounding, 1 above, else 0."""
    rounding = percent(half_unit(cell_differences.cell.printed.decimals), cell_differences.cell.unit)
    return 0 if abs(cell_differences.typical) <= rounding else (1 if cell_differences.typical > 0 else -1)
