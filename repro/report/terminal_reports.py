"""Others' reports on cells, for a terminal: lines below a system of a table, fields of a cell's line."""

from collections.abc import Sequence

from rich.text import Text

from repro.judging.compared import ComparedCell
from repro.judging.reported import ReportedValues
from repro.report.sheet import Cell as Shown
from repro.report.sheet import Value

MATCH = {"exact": "", "close": "~", "loose": "?"}


def lines_of_reports(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    """The closest report on each cell of a system and, where there are several, how many and their span.

    None below full scale, where nothing is compared with the published numbers.
    """
    reported_values = [c.reported if c and c.scale == "full" else None for c in cells]
    if not any(reported_values):
        return []
    lines: list[Sequence[Shown]] = [[Text("  reported", style="dim"), *map(_closest_report, reported_values)]]
    if any(values and len(values.reports) > 1 for values in reported_values):
        lines.append([Text("  all reports", style="dim"), *map(_span, reported_values)])
    return lines


def _closest_report(values: ReportedValues | None) -> Shown:
    if values is None:
        return Text()
    report = values.closest.report
    making = f" {MATCH[report.match]}{report.how.start}"
    return Value(Text(values.shown, style="dim"), Text(making, style="dim italic"))


def _span(values: ReportedValues | None) -> Text:
    if values is None or len(values.reports) < 2:
        return Text()
    return Text(f"{len(values.reports)}: {values.between}", style="dim")
