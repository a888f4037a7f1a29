"""Others' reports on cells, for a terminal: lines below a system of a table, fields of a cell's line."""

from collections.abc import Sequence

from rich.text import Text

from repro.judging.compared import ComparedCell
from repro.judging.others import OthersValues
from repro.report.sheet import Cell as Shown
from repro.report.sheet import Value

MATCH = {"exact": "", "close": "~", "loose": "?"}


def lines_of_reports(cells: Sequence[ComparedCell | None]) -> list[Sequence[Shown]]:
    """The closest report on each cell of a system and, where there are several, how many and their span.

    None below full scale, where nothing is compared with the published numbers.
    """
    others_values = [c.others if c and c.scale == "full" else None for c in cells]
    if not any(others_values):
        return []
    lines: list[Sequence[Shown]] = [
        [Text("  stated by others", style="dim"), *map(_closest_report, others_values)]
    ]
    if any(values and len(values.reports) > 1 for values in others_values):
        lines.append([Text("  all of these", style="dim"), *map(_span, others_values)])
    return lines


def _closest_report(values: OthersValues | None) -> Shown:
    if values is None:
        return Text()
    report = values.closest.report
    making = f" {MATCH[report.match]}{report.how.start}"
    return Value(Text(values.shown, style="dim"), Text(making, style="dim italic"))


def _span(values: OthersValues | None) -> Text:
    if values is None or len(values.reports) < 2:
        return Text()
    return Text(f"{len(values.reports)}: {values.between}", style="dim")
