"""The values that others state of a cell, the closest in kind to the published one first."""

from collections.abc import Iterable
from itertools import groupby

from repro.hooks import MAKINGS, MATCHES
from repro.manifest.cells import Cell
from repro.plugins.reports.reports import CellReport, reports


def others_values(cell: Cell) -> tuple[CellReport, ...]:
    """Return all reports on a cell by kind, of one kind the median one first.

    Raises ManifestError for a bad file.
    """
    groups = groupby(sorted(reports().get(cell.id, ()), key=_kind), key=_kind)
    return tuple(report for _, group in groups for report in _median_first(group))


def _kind(cell_report: CellReport) -> tuple[int, int]:
    return [*MATCHES].index(cell_report.match), [*MAKINGS].index(cell_report.making)


def _median_first(group: Iterable[CellReport]) -> list[CellReport]:
    """Return reports of one kind from the least to the greatest, the median one before all.

    Of an even number it is that of the two in the middle which lies further from the published number, the
    lesser where both lie as far, so that no choice favours the paper.
    """
    ordered = sorted(group, key=lambda report: report.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    median = max(middle, key=lambda report: abs(report.difference))
    return [median, *(report for report in ordered if report is not median)]
