"""A user's value among what others state of the same cell: above, below, or the same to rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from repro.manifest.cells import Cell
from repro.manifest.printed import decimals_of, half_unit, half_up
from repro.plugins.reports.others import others_values
from repro.plugins.reports.reports import CellReport

# kinds of making, nearest to a published number first: starts, one report of them, several
KINDS = (
    (("run",), "of a released run", "of released runs"),
    (("checkpoint",), "of a released checkpoint", "of released checkpoints"),
    (("index",), "indexed again", "indexed again"),
    (("trained", "fine-tuned"), "trained again", "trained again"),
    (("unknown",), "whose making is not said", "whose making is not said"),
)
NAMES = {-1: "below", 0: "equal to", 1: "above"}  # of the sides of a report on which a value lies
LOOSE = "loose"  # where the name is all that ties a report to a cell, a value is not placed among such


@dataclass(frozen=True)
class Place:
    """The place of a value among the reports of one kind, at least one.

    Attributes:
        starts: how these reports were made, as a report's ``how.start`` says it.
        described: the same in words.
        values: what they say, the least first, in the unit of the published number.
        digits: after the point, at most, of values that are shown.
        sides: for each of them 1 where the value is above it, 0 where equal, -1 where below.
    """

    starts: tuple[str, ...]
    described: str
    values: tuple[Decimal, ...]
    digits: int
    sides: tuple[int, ...]

    @property
    def position(self) -> str:
        """The place in a few words, as "below all" or "equal to the highest"."""
        lowest, highest = self.sides[0], self.sides[-1]
        if len(set(self.sides)) == 1:
            return f"{NAMES[lowest]} {'it' if len(self.sides) == 1 else 'all'}"
        if lowest == 0 and 1 not in self.sides:
            return "equal to the lowest"
        if highest == 0 and -1 not in self.sides:
            return "equal to the highest"
        return ", ".join(f"{NAMES[side]} {self.sides.count(side)}" for side in sorted(set(self.sides)))

    def __str__(self) -> str:
        return f"{self.described} {span(self.values, self.digits)} (yours is {self.position})"

    def as_json(self) -> dict:
        """Return how many reports of this kind there are, their ends, how many are below, equal, above."""
        return {
            "how": list(self.starts),
            "count": len(self.values),
            "least": float(self.values[0]),
            "most": float(self.values[-1]),
            "below": self.sides.count(-1),
            "equal": self.sides.count(0),
            "above": self.sides.count(1),
        }


@dataclass(frozen=True)
class ValueAmongOthers:
    """A user's value of a cell beside the published one and the reports of others.

    Attributes:
        value: exact, in the unit of the published number.
        digits: after the point of what is shown at most, one or two more than are published.
        places: one for each kind of making that somebody states.
        loose: values of reports whose match to the cell rests on a name alone, the least first.
    """

    cell: Cell
    value: Decimal
    digits: int
    places: tuple[Place, ...]
    loose: tuple[Decimal, ...]

    def __str__(self) -> str:
        parts = [span([self.value], self.digits), f"published {self.cell.printed.plain}"]
        if self.places:
            counts = [len(place.values) for place in self.places]
            heads = [_count_values(counts[0]), *map(str, counts[1:])]
            stated = ", ".join(map(" ".join, zip(heads, map(str, self.places), strict=True)))
            parts.append(f"others state {stated}")
        if self.loose:
            values = span(self.loose, self.digits)
            parts.append(f"{_count_values(len(self.loose))} of a loose match {values} left out")
        return "; ".join(parts)

    def as_json(self) -> dict:
        """Return the same as plain values, with the sentence that people read."""
        return {
            "cell": self.cell.id,
            "value": float(self.value),
            "published": float(self.cell.number),
            "unit": self.cell.unit,
            "places": [place.as_json() for place in self.places],
            "loose": [float(value) for value in self.loose],
            "sentence": str(self),
        }


def among_others(cell: Cell, value: Decimal, *, decimals: int | None = None) -> ValueAmongOthers | None:
    """Place a value among the reports on a cell; None where there is no report.

    Args:
        value: in the unit of the published number, measured on the cell's own set by its own measure.
        decimals: digits after the point to which the value is known; None of an exact one.

    Raises ManifestError for a bad others.yaml.
    """
    reported = others_values(cell)
    return placed(cell, value, reported.reports, decimals=decimals) if reported else None


def placed(
    cell: Cell, value: Decimal, reports: Iterable[CellReport], *, decimals: int | None = None
) -> ValueAmongOthers:
    """Place a value among the given reports on a cell, each kind of making by itself."""
    ordered = sorted(reports, key=lambda report: report.value)
    sure, loose = (_select_reports(ordered, loose=loose) for loose in (False, True))
    published_decimals = cell.printed.decimals or 0
    digits = min(max([published_decimals + 1, *(report.decimals for report in sure)]), published_decimals + 2)
    places = _places(value, sure, digits, decimals)
    return ValueAmongOthers(cell, value, digits, tuple(places), tuple(report.value for report in loose))


def _places(
    value: Decimal, reports: Sequence[CellReport], digits: int, decimals: int | None
) -> Iterator[Place]:
    """Yield the place of a value among the reports of each kind of making that there are reports of."""
    for kind in KINDS:
        if group := [cell_report for cell_report in reports if cell_report.report.how.start in kind[0]]:
            yield _place(kind, group, digits, [_side(value, cell_report, decimals) for cell_report in group])


def _select_reports(reports: Iterable[CellReport], *, loose: bool) -> list[CellReport]:
    return [cell_report for cell_report in reports if (cell_report.report.match == LOOSE) == loose]


def _place(kind: tuple, group: Sequence[CellReport], digits: int, sides: Sequence[int]) -> Place:
    starts, singular, plural = kind
    values = [report.value for report in group]
    return Place(starts, singular if len(group) == 1 else plural, tuple(values), digits, tuple(sides))


def _side(value: Decimal, report: CellReport, decimals: int | None) -> int:
    """1 where the value is above the report, -1 below, 0 where one may be the rounding of the other.

    Args:
        decimals: digits after the point to which the value is known; None of an exact one.
    """
    coarser = report.decimals if decimals is None else min(decimals, report.decimals)
    if abs(value - report.value) <= half_unit(coarser):
        return 0
    return 1 if value > report.value else -1


def span(values: Sequence[Decimal], digits: int) -> str:
    """Return the least and the greatest of sorted values, or the only one, of more digits rounded to
    these."""
    ends = (values[0], values[-1])
    least, most = (half_up(value, min(digits, decimals_of(value))) for value in ends)
    return f"{least:f}" if least == most else f"{least:f} to {most:f}"


def _count_values(number: int) -> str:
    return f"{number} value{'s' if number > 1 else ''}"
