"""Values that others report of a cell, summed up: how many, their span, and which is nearest in kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from repro.manifest.cells import Cell
from repro.manifest.reports import CellReport, reports

# Of several reports the first by these is nearest to how a published number was made.
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
WITHIN = (Decimal("0.1"), Decimal("0.5"))  # of a percentage point


@dataclass(frozen=True)
class Reported:
    """All reports on one cell, at least one, the nearest in kind first."""

    cell: Cell
    reports: tuple[CellReport, ...]

    @property
    def closest(self) -> CellReport:
        """The report that is nearest to how the published number was made."""
        return self.reports[0]

    @property
    def span(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest value, in the unit of the published one."""
        values = [report.value for report in self.reports]
        return min(values), max(values)

    def __str__(self) -> str:
        least, most = self.span
        between = f"{least}" if least == most else f"{least} to {most}"
        count = f"{len(self.reports)} report{'s' if len(self.reports) > 1 else ''}"
        near, how = self.closest, HOW[self.closest.report.how.start]
        nearest = f"closest in kind {near.value} ({near.source.name}, {how}; {near.source.place})"
        return f"{count}, {between}; {nearest}"

    def as_json(self) -> list[dict]:
        """The reports as plain values."""
        return [report_as_json(report) for report in self.reports]


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


def reported(cell: Cell) -> Reported | None:
    """Sum up others' reports on a cell; None where there is none. Raises ManifestError for a bad file."""
    known = reports().get(cell.id, ())
    return Reported(cell, tuple(sorted(known, key=_kind))) if known else None


def _kind(made: CellReport) -> tuple:
    stated = made.report
    return MATCHES.index(stated.match), STARTS.index(stated.how.start), abs(made.difference)


@dataclass(frozen=True)
class Agreement:
    """The nearness of the reports of one kind to published numbers.

    Attributes:
        of: the kind.
        reports, cells: how many there are.
        equal: cells of which a report is the published number, to the coarser rounding of both.
        within: cells of which a report is no further away than 0.1, and 0.5, of a percentage point.
        median: of the differences without their signs, in percentage points.
    """

    of: str
    reports: int
    cells: int
    equal: int
    within: tuple[int, ...]
    median: float


def agreements(known: Iterable[CellReport]) -> list[Agreement]:
    """The agreement of each way to make a value, of shares of one alone, as far as there are reports."""
    known = [made for made in known if made.cell.unit in ("percent", "fraction")]
    groups = {start: [made for made in known if made.report.how.start == start] for start in STARTS}
    return [_agreement(HOW[start], group) for start, group in groups.items() if group]


def _agreement(of: str, group: Sequence[CellReport]) -> Agreement:
    nearest: dict[str, Decimal] = {}
    for made in group:
        name = made.cell.id
        nearest[name] = min(points(made), nearest.get(name, points(made)))
    equal = {made.cell.id for made in group if made.equals_published}
    within = tuple(sum(difference <= most for difference in nearest.values()) for most in WITHIN)
    typical = float(median(points(made) for made in group))
    return Agreement(of, len(group), len(nearest), len(equal), within, typical)


def points(made: CellReport) -> Decimal:
    """The difference from the published number without its sign, in percentage points."""
    return abs(made.difference) * (100 if made.cell.unit == "fraction" else 1)
