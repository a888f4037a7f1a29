"""Marks of significance against the numbers of the rows that they are said to be over."""

import re
from collections.abc import Iterator

from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value

_OVER = r"(?:improve\w*|better|gains?|outperform\w*|higher|superior\w*|increase\w*)"
SIGNIFICANT = re.compile(rf"(?i)signific\w*[^.;]*{_OVER}|{_OVER}[^.;]*signific")
SIGNS = "†‡§¶⋆★*♠♣♦♥△▲◦∗"
MARK_OVER = re.compile(
    rf"(?P<mark>[{SIGNS}]+)[^{SIGNS}.;]*?\b(?:over|than|outperform\w*|against|compared (?:to|with))\s+"
    rf"(?P<over>[^.;,({SIGNS}]+)"
)
LETTERED = re.compile(r"^[(\[]?(?P<letter>[a-z0-9])[)\].:]\s*(?P<label>\S.*)$")


def impossible(grid: Grid) -> Iterator[Finding]:
    """Find marks of significance on numbers that are no better than that of the row they are said to beat.

    The caption has to say that marks stand for significant improvements, and over which row: by its name
    behind the mark, or by letters that rows are lettered with. All other marks are left alone.
    """
    if SIGNIFICANT.search(grid.remarks):
        rivals = _named_rivals(grid) or _lettered(grid)
        for series in grid.scores:
            for value in series.values.values():
                yield from _of_value(grid, series, value, rivals)


def _of_value(grid: Grid, series: Series, value: Value, rivals: dict[str, int]) -> Iterator[Finding]:
    for mark in value.cell.marks:
        rival = series.values.get(rivals.get(mark, value.line))
        if rival is None or rival is value:
            continue
        lead = (value.number - rival.number) * series.sign
        if lead <= 0:
            says = f"{grid.where(series, value)} has the mark {mark}"
            over = f"{grid.lines[rival.line].label}, which has {rival.cell.text}"
            why = f"it stands for a significant improvement over {over}"
            yield Finding("error" if lead < 0 else "doubt", "mark", value.place, says, why)


def _named_rivals(grid: Grid) -> dict[str, int]:
    """Return mark -> the one line whose label the caption has behind it."""
    rivals = {}
    for match in MARK_OVER.finditer(grid.remarks):
        words = match["over"].strip().lower()
        lines = [n for n, line in grid.lines.items() if line.label.lower() == words]
        if len(lines) == 1:
            rivals[match["mark"]] = lines[0]
    return rivals


def _lettered(grid: Grid) -> dict[str, int]:
    """Return letter -> the line that it stands before, where at least two lines are lettered, each once."""
    letters = [(m["letter"], n) for n, line in grid.lines.items() if (m := LETTERED.match(line.label))]
    once = len({letter for letter, _ in letters}) == len(letters)
    return dict(letters) if once and len(letters) > 1 else {}
