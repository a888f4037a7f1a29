"""Others' reports on cells, for a terminal: lines below a system of a table, fields of a cell's line."""

from collections.abc import Sequence

from rich.text import Text

from repro.judging.compared import ComparedCell
from repro.judging.reported import ReportedValues
from repro.report.sheet import Cell as Shown
from repro.report.sheet import Value

HEAD_OF_REPORTS = ("reported", "reports", "span", "made how")
MATCH = {"exact": "", "close": "~", "loose": "?"}


def lines_of_reports(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    """The closest report on each cell of a system and, where there are several, how many and their span.

    None below full scale, where nothing is compared with the published numbers.
    """
    known = [c.reported if c and c.scale == "full" else None for c in cells]
    if not any(known):
        return []
    lines: list[Sequence[Shown]] = [[Text("  reported", style="dim"), *map(_closest, known)]]
    if any(others and len(others.reports) > 1 for others in known):
        lines.append([Text("  all reports", style="dim"), *map(_span, known)])
    return lines


def _closest(others: ReportedValues | None) -> Shown:
    if others is None:
        return Text()
    stated = others.closest.report
    how = f" {MATCH[stated.match]}{stated.how.start}"
    return Value(Text(others.shown, style="dim"), Text(how, style="dim italic"))


def _span(others: ReportedValues | None) -> Text:
    if others is None or len(others.reports) < 2:
        return Text()
    return Text(f"{len(others.reports)}: {others.between}", style="dim")


def fields_of_reports(others: ReportedValues | None) -> tuple[str, ...]:
    """The fields under ``HEAD_OF_REPORTS``; empty where nobody is known to report the cell."""
    if others is None:
        return ("",) * len(HEAD_OF_REPORTS)
    stated = others.closest.report
    return others.shown, str(len(others.reports)), others.between, MATCH[stated.match] + stated.how.start
