"""Values that others state of a cell, summed up: how many, their span, and which is closest in kind."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from repro.manifest.cells import Cell
from repro.manifest.decimals import decimals_of, half_up
from repro.plugins.reports.reports import CellReport, reports

# Of several reports the first by these is closest in kind to how a published number was made.
MATCHES = ("exact", "close", "loose")
STARTS = ("run", "checkpoint", "index", "trained", "fine-tuned", "unknown")
HOW = {
    "run": "released run scored again",
    "checkpoint": "released checkpoint encoded again",
    "index": "indexed again",
    "trained": "trained from the start",
    "fine-tuned": "fine-tuned from a released pre-training",
    "unknown": "how is not said",
}


@dataclass(frozen=True)
class OthersValues:
    """All reports on one cell, at least one, by kind, and of those of one kind the median one first."""

    cell: Cell
    reports: tuple[CellReport, ...]

    @property
    def closest(self) -> CellReport:
        """The report that is closest to how the published number was made, of several so the median one."""
        return self.reports[0]

    @property
    def span(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest value, in the unit of the published one."""
        values = [report.value for report in self.reports]
        return min(values), max(values)

    @property
    def between(self) -> str:
        """The span in words, one value where all are equal."""
        least, most = (rounded_report(value, self.cell) for value in self.span)
        return least if least == most else f"{least} to {most}"

    @property
    def shown(self) -> str:
        """The closest value as tables show it."""
        return rounded_report(self.closest.value, self.cell)

    def __str__(self) -> str:
        count = f"{len(self.reports)} value{'s' if len(self.reports) > 1 else ''}"
        closest, making = self.closest, HOW[self.closest.report.how.start]
        nearest = f"closest in kind {self.shown} ({closest.source.name}, {making}; {closest.source.place})"
        return f"{count}, {self.between}; {nearest}"

    def as_json(self) -> list[dict]:
        """The reports as plain values."""
        return [report_as_json(report) for report in self.reports]


def in_a_line(cell_report: CellReport) -> str:
    """One report in a line: the value, whose it is, how it was made, how sure the match is, and where."""
    report, source = cell_report.report, cell_report.source
    place = f"{source.place}{f', {report.at}' if report.at else ''}"
    parts = [f"{cell_report.value:f} {source.name} ({source.who}): {HOW[report.how.start]}"]
    parts += [f"differs: {', '.join(report.how.differs)}"] if report.how.differs else []
    parts += [f"match {report.match}", place, *filter(None, [report.note])]
    return "; ".join(parts)


def rounded_report(value: Decimal, cell: Cell) -> str:
    """A value of others with one decimal more than the published one at most, halves away from zero."""
    most = (cell.printed.decimals or 0) + 1
    return f"{value if decimals_of(value) <= most else half_up(value, most):f}"


def report_as_json(cell_report: CellReport) -> dict:
    """One report as plain values."""
    report, source = cell_report.report, cell_report.source
    return {
        "value": float(cell_report.value),
        "stated": report.value,
        "measure": report.measure,
        "dataset": report.dataset,
        "difference": float(cell_report.difference),
        "equal": cell_report.equals_published,
        "match": report.match,
        "who": source.who,
        "name": source.name,
        "how": report.how.model_dump(),
        "place": source.place,
        "at": report.at,
        "address": source.address,
        "note": report.note,
    }


def others_values(cell: Cell) -> OthersValues | None:
    """Sum up others' values on a cell; None where there is none. Raises ManifestError for a bad file."""
    entries = sorted(reports().get(cell.id, ()), key=_kind)
    groups = (_median_first(group) for _, group in groupby(entries, key=_kind))
    return OthersValues(cell, tuple(report for group in groups for report in group)) if entries else None


def _kind(cell_report: CellReport) -> tuple:
    report = cell_report.report
    return MATCHES.index(report.match), STARTS.index(report.how.start)


def _median_first(group: Iterable[CellReport]) -> list[CellReport]:
    """Reports of one kind from the least to the greatest, the median one before all.

    Of an even number it is that of the two in the middle which lies further from the published number, the
    lesser where both lie as far, so that no choice favours the paper.
    """
    ordered = sorted(group, key=lambda report: report.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    median = max(middle, key=lambda report: abs(report.difference))
    return [median, *(report for report in ordered if report is not median)]
