"""Counts of how close others' values are to the published numbers, by their making."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from repro.hooks import MAKINGS
from repro.manifest.printed import half_unit, percent
from repro.plugins.reports.reports import CellReport

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


class Nearness(NamedTuple):
    """The distances of one kind of others' values from the published numbers. Loose matches are excluded.

    Attributes:
        label: e.g. "training again", or "– others than the authors" for a part of it.
        counts: numbers in the order of ``COUNTS``.
        size: the median over distinct numbers of the absolute median difference, in points.
    """

    label: str
    counts: tuple[int, ...]
    size: float


def nearnesses(by_cell: Mapping[str, Values]) -> list[Nearness]:
    """Return a line for each kind of making, then for its exact ways, then without the authors."""
    numbers, lines = _distinct_numbers(by_cell), []
    for kind, starts in KINDS.items():
        parts = [(kind, starts, True)]
        parts += [(f"– {MAKINGS[start]}", (start,), True) for start in starts if len(starts) > 1]
        parts += [(f"– {OTHERS}", starts, False)]
        lines += [_nearness(label, numbers, ways, authors=authors) for label, ways, authors in parts]
    return [line for line in lines if line]


def _distinct_numbers(by_cell: Mapping[str, Values]) -> list[list[Values]]:
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
    """Return -1 if the median is below the published number by more than its rounding, 1 if above, else 0."""
    cell, typical = values[0].cell, _typical(values)
    if abs(typical) <= percent(half_unit(cell.printed.decimals), cell.unit):
        return 0
    return 1 if typical > 0 else -1
