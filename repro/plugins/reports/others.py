"""Values that others state of a cell, summed up: how many, their span, and which is closest in kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from repro.manifest.cells import Cell
from repro.plugins.reports.reports import CellReport, reports

if TYPE_CHECKING:
    from repro.writers.html.elements import Content


# Of several reports the first by these is closest in kind to how a published number was made.
MATCHES = {"exact": "", "close": "~", "loose": "?"}  # and the sign that stands for each
HOW = {
    "run": "released run scored again",
    "checkpoint": "released checkpoint encoded again",
    "index": "indexed again",
    "trained": "trained from the start",
    "fine-tuned": "fine-tuned from a released pre-training",
    "unknown": "how is not said",
}
STARTS = tuple(HOW)
KNOWN = {
    "exact": "stated by others, of the same system and data",
    "close": "stated by others, something small differs",
    "loose": "stated by others, only the name matches",
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
    def ends(self) -> tuple[str, str]:
        """Return the least and the greatest value as tables show them."""
        least, most = (pick(self.reports, key=lambda report: report.value) for pick in (min, max))
        return least.shown, most.shown

    @property
    def between(self) -> str:
        """Return the span in words, one value where all are equal."""
        least, most = self.ends
        return least if least == most else f"{least} to {most}"

    @property
    def values(self) -> tuple[CellReport, ...]:
        """Return the reports, as ``repro.verdicts.additions`` calls them."""
        return self.reports

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self.reports)

    @property
    def shown(self) -> str:
        """Return the closest value as tables show it."""
        return self.closest.shown

    @property
    def known(self) -> str:
        """Return what the closest value makes known of the cell."""
        return f"stated by others ({self.closest.match})"

    @property
    def equal(self) -> bool:
        """Return whether the closest value is the published one at the coarser rounding of both."""
        return self.closest.equals_published

    @property
    def remark(self) -> str:
        """Return how the closest value was made, with a sign for how sure it is of the cell."""
        return f"{MATCHES[self.closest.match]}{self.closest.making}"

    @property
    def letter(self) -> str:
        """Return the first letter of how the closest value was made; ? where only the name matches."""
        return self.closest.making[0] + ("?" if self.closest.match == "loose" else "")

    @property
    def spread(self) -> str:
        """Return how many there are, and from where to where; empty for one."""
        return f"{self.count}: {self.between}" if self.count > 1 else ""

    def markdown(self) -> str:
        """Return the closest value, a link to its place, and how many others lie where."""
        from repro.writers.markdown import link

        closest = self.closest
        place = link(closest.source.name, closest.source.address)
        match = "" if closest.match == "exact" else f", a {closest.match} match"
        span = f"; {self.count} values, {self.between}" if self.count > 1 else ""
        return f"{self.shown} ({HOW[closest.making]}{match}, {place}{span})"

    def html_line(self) -> Content:
        """Return the closest value in quotation marks, and how many there are."""
        from repro.plugins.reports.cell import line

        return line(self)

    def html_card(self) -> Content:
        """Return the closest value and, folded, the others."""
        from repro.plugins.reports.cell import on_card

        return on_card(self)

    def __str__(self) -> str:
        count = f"{len(self.reports)} value{'s' if len(self.reports) > 1 else ''}"
        closest, making = self.closest, HOW[self.closest.report.how.start]
        nearest = f"closest in kind {self.shown} ({closest.source.name}, {making}; {closest.source.place})"
        return f"{count}, {self.between}; {nearest}"


def others_values(cell: Cell) -> OthersValues | None:
    """Sum up others' values on a cell; None where there is none. Raises ManifestError for a bad file."""
    entries = sorted(reports().get(cell.id, ()), key=_kind)
    groups = (_median_first(group) for _, group in groupby(entries, key=_kind))
    return OthersValues(cell, tuple(report for group in groups for report in group)) if entries else None


def _kind(cell_report: CellReport) -> tuple:
    report = cell_report.report
    return tuple(MATCHES).index(report.match), STARTS.index(report.how.start)


def _median_first(group: Iterable[CellReport]) -> list[CellReport]:
    """Return reports of one kind by value, the median one first; of two middle ones that further from the
    paper."""
    ordered = sorted(group, key=lambda report: report.value)
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1]
    median = max(middle, key=lambda report: abs(report.difference))
    return [median, *(report for report in ordered if report is not median)]


class Others:
    """The values that others state, beside a cell's own: see ``repro.verdicts.additions.SideValueKind``."""

    name, only, label = "others", "stated", "stated by others"
    spread_label, abbreviation = "all of these", "oth."
    makings = MappingProxyType(HOW)
    known = MappingProxyType({f"stated by others ({match})": meaning for match, meaning in KNOWN.items()})
    signs = MappingProxyType(
        {f"stated by others ({match})": (match, f"“{MATCHES[match] or ' '}”") for match in KNOWN}
    )
    origin = "as others state it (oth.)"
    explained = (
        "stated by others: of several values the closest in kind (~ where something else differs, "
        "? where only the name matches); it decides no verdict, and `repro show others` has the place of each"
    )
    how_to_read = (
        "In quotation marks stands what others state, of several the closest in kind with their number: "
        "no verdict rests on it."
    )

    def of(self, cell: Cell) -> OthersValues | None:
        """Return what others state of a cell."""
        return others_values(cell)

    def as_json(self, values: OthersValues | None) -> list[dict[str, Any]]:
        """Return an object for each report."""
        return [report.as_json() for report in values.reports] if values else []

    def as_row(self, values: OthersValues | None) -> dict[str, Any]:
        """Return the closest value, how many there are, and their span; None where there is none."""
        closest = values.closest if values else None
        least, most = map(float, values.span) if values else (None, None)
        return {
            "others": float(closest.value) if closest else None,
            "others_count": values.count if values else 0,
            "others_least": least,
            "others_most": most,
            "others_how": closest.making if closest else None,
            "others_match": closest.match if closest else None,
            "others_by": closest.maker if closest else None,
            "others_at": closest.source.address if closest else None,
        }

    def latex_legend(self, shown: Sequence[OthersValues]) -> str:
        """Return the meaning of the letters at values of others, of those that a table shows."""
        makings = {values.closest.making for values in shown}
        letters = ", ".join(f"{start[0]} {HOW[start]}" for start in STARTS if start in makings)
        doubt = "; ? where only the name matches" if any(v.closest.match == "loose" for v in shown) else ""
        return f"Others: of several values the closest in kind, with their number; raised: {letters}{doubt}."


OTHERS = Others()
