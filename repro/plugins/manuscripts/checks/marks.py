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
OVER_BASELINES = re.compile(r"(?i)\b(over|than|to|against|outperform\w*)\s+([\w-]+\s+){0,3}baselines?\b")
LETTERED = re.compile(r"^[(\[]?(?P<letter>[a-z0-9])[)\].:]\s*(?P<label>\S.*)$")


def impossible(grid: Grid) -> Iterator[Finding]:
    """Find marks of significance on numbers that are no better than that of the row they are said to beat.

    The caption has to say that marks stand for significant improvements, and over which row: by its name
    behind the mark, by letters that rows are lettered with, or over baselines, which are then the rows
    without any mark. All other marks are left alone.
    """
    if SIGNIFICANT.search(grid.remarks):
        rivals = _named_rivals(grid) or _lettered(grid)
        for series in grid.scores:
            for value in series.values.values():
                yield from _of_value(grid, series, value, rivals)
        if not rivals and OVER_BASELINES.search(grid.remarks):
            yield from _over_baselines(grid)


def _over_baselines(grid: Grid) -> Iterator[Finding]:
    """Find marked numbers that a row without any mark reaches, where hardly any are so."""
    scores = [(series, value) for series in grid.scores for value in series.values.values()]
    marked = [(series, value) for series, value in scores if value.cell.marks]
    ours = {value.line for _, value in marked}
    behind = [(s, v, best) for s, v in marked if (best := _not_behind(s, v, ours))]
    for series, value, best in behind if 4 * len(behind) <= len(marked) else ():
        says = f"{grid.where(series, value)} has the mark {value.cell.marks[0]}"
        label = grid.lines[best.line].label
        why = f"it stands for a significant improvement over baselines, and {label} has {best.cell.text}"
        yield Finding("doubt", "mark", value.place, says, why)


def _not_behind(series: Series, value: Value, ours: set[int]) -> Value | None:
    """Return the best number of a series outside of some lines; None where it is behind a value."""
    others = (other for other in series.values.values() if other.line not in ours)
    best = max(others, key=lambda other: other.number * series.sign, default=value)
    return best if best is not value and (best.number - value.number) * series.sign >= 0 else None


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
