"""Values that others report of a cell, summed up: how many, their span, and which is closest in kind."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from repro.manifest.cells import Cell
from repro.manifest.decimals import decimals_of, half_up
from repro.manifest.reports import CellReport, reports

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
class ReportedValues:
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
        count = f"{len(self.reports)} report{'s' if len(self.reports) > 1 else ''}"
        near, how = self.closest, HOW[self.closest.report.how.start]
        nearest = f"closest in kind {self.shown} ({near.source.name}, {how}; {near.source.place})"
        return f"{count}, {self.between}; {nearest}"

    def as_json(self) -> list[dict]:
        """The reports as plain values."""
        return [report_as_json(report) for report in self.reports]


def in_a_line(made: CellReport) -> str:
    """One report in a line: the value, whose it is, how it was made, how sure the match is, and where."""
    stated, source = made.report, made.source
    where = f"{source.place}{f', {stated.at}' if stated.at else ''}"
    told = [f"{made.value:f} {source.name} ({source.who}): {HOW[stated.how.start]}"]
    told += [f"differs: {', '.join(stated.how.differs)}"] if stated.how.differs else []
    told += [f"match {stated.match}", where, *filter(None, [stated.note])]
    return "; ".join(told)


def rounded_report(value: Decimal, cell: Cell) -> str:
    """A reported value with one decimal more than the published one at most, halves away from zero."""
    most = (cell.printed.decimals or 0) + 1
    return f"{value if decimals_of(value) <= most else half_up(value, most):f}"


def report_as_json(made: CellReport) -> dict:
    """One report as plain values."""
    stated, source = made.report, made.source
    return {
        "value": float(made.value),
        "stated": stated.value,
        "measure": stated.measure,
        "dataset": stated.dataset,
        "difference": float(made.difference),
        "equal": made.equals_published,
        "match": stated.match,
        "who": source.who,
        "name": source.name,
        "how": stated.how.model_dump(),
        "place": source.place,
        "at": stated.at,
        "address": source.address,
        "note": stated.note,
    }


def reported_values(cell: Cell) -> ReportedValues | None:
    """Sum up others' reports on a cell; None where there is none. Raises ManifestError for a bad file."""
    known = sorted(reports().get(cell.id, ()), key=_kind)
    by_kind = (_median_first(alike) for _, alike in groupby(known, key=_kind))
    return ReportedValues(cell, tuple(made for alike in by_kind for made in alike)) if known else None


def _kind(made: CellReport) -> tuple:
    stated = made.report
    return MATCHES.index(stated.match), STARTS.index(stated.how.start)


def _median_first(alike: Iterable[CellReport]) -> list[CellReport]:
    """Reports of one kind from the least to the greatest, the median one before all.

    Of an even number it is that of the two in the middle which lies further from the published number, the
    lesser where both lie as far, so that no choice favours the paper.
    """
    ordered = sorted(alike, key=lambda made: made.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    median = max(middle, key=lambda made: abs(made.difference))
    return [median, *(made for made in ordered if made is not median)]
