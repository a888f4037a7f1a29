"""Checks bold, underlined and marked numbers, e.g. a bold number that is not the best."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from repro.graph import grouped
from repro.plugins.manuscripts.checks import Finding, Findings
from repro.plugins.manuscripts.notation import MARKS
from repro.plugins.manuscripts.series import Grid, Line, Series, Value

OTHER_MEANING = re.compile(r"(?i)\bbold(face|ed)?\b[^.;]*signific|signific[^.;]*\bbold|\bours?\b[^.;]*\bbold")
_SHADE = r"(?:shad(?:ed|ing)|colou?r(?:ed)?|highlight(?:ed)?|gr[ae]y|green|blue|red|yellow|orange)"
_TO = r"\b(?:(?!bold|\bour|underl)[^.;,])*\b"
SHADE_OF_BEST = re.compile(rf"(?i)\b{_SHADE}{_TO}best\b|\bbest{_TO}{_SHADE}\b")
BEST_IS_BOLD = re.compile(r"(?i)\b(?:best|highest)\b[^.;]*\bbold|\bbold[^.;]*\b(?:best|highest)\b")
LEAST = 3  # right scopes per wrong one
# A style compares the lines of a series with equal keys.
SCOPES: dict[str, Callable[[Line], Hashable]] = {
    "column": lambda line: None,
    "group": lambda line: line.group,
    "block between rules": lambda line: line.block,
}


@dataclass(frozen=True)
class Style:
    """A style, e.g. bold, of the numbers with this rank: 0 for the best, 1 for the second best."""

    check: str
    adjective: str
    rank: int
    target: str
    colour: str = ""

    def has(self, value: Value) -> bool:
        if self.colour:
            return value.cell.shade == self.colour
        return value.cell.underlined if self.rank else value.cell.bold


BOLD, UNDERLINE = Style("bold", "bold", 0, "best"), Style("underline", "underlined", 1, "second best")


@dataclass(frozen=True)
class Scope:
    series: Series
    members: tuple[Value, ...]
    style: Style

    def ranked(self, rank: int) -> list[Value]:
        numbers = sorted({value.number for value in self.members}, reverse=self.series.sign > 0)
        return [v for v in self.members if [v.number] == numbers[rank : rank + 1]]

    @cached_property
    def target(self) -> list[Value]:
        return self.ranked(self.style.rank)

    @cached_property
    def styled(self) -> list[Value]:
        return list(filter(self.style.has, self.members))

    @property
    def is_right(self) -> bool:
        return self.styled == self.target

    @property
    def is_reported(self) -> bool:
        """True if the style is wrong. For the second best, the best must be bold."""
        return not self.is_right and (not self.style.rank or all(map(BOLD.has, self.ranked(0))))


@dataclass(frozen=True)
class Habit:
    """A table's use of a style, e.g. bold. Most of its marks are right within a ``scope``."""

    grid: Grid
    scope: str
    scopes: tuple[Scope, ...]

    @cached_property
    def right(self) -> int:
        return sum(scope.is_right for scope in self.scopes)

    @property
    def wrong(self) -> int:
        return len(self.scopes) - self.right

    @property
    def reported(self) -> list[Scope]:
        often = Counter(scope.series for scope in self.scopes)
        right = {scope.series for scope in self.scopes if scope.is_right}
        usual = {series for series, number in often.items() if number == 1 or series in right}
        return [scope for scope in self.scopes if scope.is_reported and scope.series in usual]

    @property
    def outside(self) -> set[int]:
        """The lines ahead of the styled numbers in all, or at least two and over a third, of their scopes."""
        ahead, numbers = Counter[int](), Counter[int]()
        for scope in self.scopes:
            for value in scope.members:
                numbers[value.line] += 1
                ahead[value.line] += all(scope.series.lead(value, one) > 0 for one in scope.styled)
        often = ((line, number, numbers[line]) for line, number in ahead.items())
        return {line for line, number, of in often if number == of or (number > 1 and 3 * number > of)}


def best(grids: Sequence[Grid]) -> Findings:
    """Find bold numbers that are not the best, and best ones that lack the bold of an equal one."""
    yield from _of_style([grid for grid in grids if not OTHER_MEANING.search(grid.remarks)], BOLD)


def shaded(grids: Sequence[Grid]) -> Findings:
    colours = (value.cell.shade for grid in grids for series in grid.series for value in series)
    for colour in filter(None, dict.fromkeys(colours)):
        style = _shade(colour)
        yield from _of_style([grid for grid in grids if not _is_of_lines(grid, style)], style)


def _shade(colour: str) -> Style:
    return Style("shade", "shaded", 0, "best", colour)


def _is_of_lines(grid: Grid, style: Style) -> bool:
    if SHADE_OF_BEST.search(grid.remarks):
        return False
    styled = {value.line for _, value in grid.numbers if style.has(value)}
    is_whole = all(style.has(value) for _, value in grid.numbers if value.line in styled)
    return len(grid.scores) > 1 and is_whole


def is_by_line(grid: Grid) -> bool:
    colours = {value.cell.shade for _, value in grid.numbers} - {""}
    styles = [BOLD, *map(_shade, sorted(colours))]
    return any(_right_along_lines(grid, s) >= max(LEAST, 2 * _habit(grid, s).right + 1) for s in styles)


def second_best(grids: Sequence[Grid]) -> Findings:
    yield from _of_style(grids, UNDERLINE)


def _of_style(grids: Sequence[Grid], style: Style) -> Findings:
    habits = [_habit(grid, style) for grid in grids]
    right, wrong = sum(map(attrgetter("right"), habits)), max(1, sum(map(attrgetter("wrong"), habits)))
    if right >= LEAST * wrong:
        yield from (found for habit in habits for found in _of_habit(habit, style))
    elif right >= wrong:
        thin = (found for habit in habits if habit.wrong < 2 for found in _of_habit(habit, style, 1))
        yield from (replace(found, severity="note") for found in thin)
    single = [each for each in habits if (each.right, each.wrong) == (0, 1)]
    if len(single) == wrong and (right or BEST_IS_BOLD.search(single[0].grid.remarks)):
        yield from _of_single(single[0])


def _of_single(habit: Habit) -> Findings:
    [scope] = habit.scopes
    is_of_line = any(habit.grid.table.body[value.line][0].bold for value in scope.styled)
    for found in _of_scope(habit, scope, set()) if scope.is_reported and not is_of_line else ():
        yield replace(found, severity="note")


def _of_habit(habit: Habit, style: Style, tolerance: int = 0) -> Findings:
    if habit.wrong <= habit.right > _right_along_lines(habit.grid, style) - tolerance:
        outside = habit.outside if style.colour else _habit(habit.grid, BOLD).outside
        found = [each for scope in habit.reported for each in _of_scope(habit, scope, outside)]
        ties = [each for each in found if each.severity == "note"]
        yield from (each for each in found if len(ties) < 2 or each not in ties)
        yield from _bare(habit, style, outside)


def _bare(habit: Habit, style: Style, outside: set[int]) -> Findings:
    bare = [each for each in habit.grid.scores if each.sign and not any(map(style.has, each))]
    if (habit.scope, len(bare), habit.wrong) == ("column", 1, 0) and habit.right > 1:
        members = tuple(v for v in bare[0] if v.line not in outside)
        for value in Scope(bare[0], members, style).target[: max(1, len(members) // 3)]:
            says = f"{habit.grid.where(bare[0], value)} is the {style.target} but not {style.adjective}"
            why = f"The {style.target} is {style.adjective} in the {habit.right} other columns"
            yield Finding("note", style.check, value.place, says, why)


def _right_along_lines(grid: Grid, style: Style) -> int:
    series = list(filter(attrgetter("sign"), grid.series))
    if len(set(map(attrgetter("measure"), series))) > 1:
        return 0
    lines = ([each.values[line] for each in series if line in each.values] for line in grid.lines)
    scopes = [Scope(series[0], tuple(members), style) for members in lines if members]
    return sum(scope.is_right for scope in scopes if 0 < len(scope.styled) < len(scope.members))


def _habit(grid: Grid, style: Style) -> Habit:
    habits = [Habit(grid, name, tuple(_scopes(grid, key, style))) for name, key in SCOPES.items()]
    return max(habits, key=lambda habit: habit.right - habit.wrong)


def _scopes(grid: Grid, key: Callable[[Line], Hashable], style: Style) -> Iterator[Scope]:
    least = 2 if len(grid.lines) == 2 else 3
    for series in (each for each in grid.series if each.sign):
        groups = grouped((key(grid.lines[v.line]), v) for v in series)
        scopes = (Scope(series, tuple(members), style) for members in groups.values())
        yield from (s for s in scopes if 0 < len(s.styled) < len(s.members) >= least)


def _of_scope(habit: Habit, whole: Scope, outside: set[int]) -> Findings:
    style, grid = whole.style, habit.grid
    members = tuple(v for v in whole.members if v.line not in outside or style.has(v))
    scope = Scope(whole.series, members, style)
    if not scope.target:
        return
    labels = ", ".join(map(grid.label, scope.target))
    why = f"The {style.target} of its {habit.scope} is {scope.target[0].text} ({labels})"
    evidence = f"{why}. This table is right in {habit.right} of {len(habit.scopes)} cases"
    for value in scope.styled:
        if value not in scope.target:
            says = f"{grid.where(scope.series, value)} is {style.adjective} but not the {style.target}"
            yield Finding("doubt", style.check, value.place, says, evidence)
    for value in scope.target if any(map(style.has, scope.target)) else ():
        if not style.has(value):
            says = f"{grid.where(scope.series, value)} is not {style.adjective} but equals one that is"
            yield Finding("note", style.check, value.place, says, why)


_OVER = r"(?:improve\w*|better|gains?|outperform\w*|higher|superior\w*|increase\w*)"
SIGNIFICANT = re.compile(rf"(?i)signific\w*[^.;]*{_OVER}|{_OVER}[^.;]*signific")
DEFINES = re.compile(rf"[{MARKS.replace('*', '')}]|(?<!\w)\*(?!\w)")
MARK_OVER = re.compile(
    rf"(?P<mark>[{MARKS}]+)[^{MARKS}.;]*?\b(?:over|than|outperform\w*|against|compared (?:to|with))\s+"
    rf"(?P<over>[^.;,({MARKS}]+)"
)
OVER_MARK = re.compile(
    rf"\b(?:over|than|against|to)\s+(?P<over>[^.;,({MARKS}]+?)\s*(?:\([^)]*\)\s*)?(?:is|are)?\s*"
    rf"(?:marked|denoted|indicated|shown|flagged)\s+(?:by|with|as)\s+(?:an?\s+|the\s+)?(?:[a-z]+\s+)?"
    rf"(?P<mark>[{MARKS}]+)"
)
_IN_ORDER = re.compile(
    rf"([{MARKS}])\s+and\s+([{MARKS}])[^.;]*?\b(?:over|than)\s+([^.;,]+?)\s+and\s+([^.;,]+),\s+respectively"
)
_AROUND = re.compile(r"^the\s+|\s+(?:baselines?\b.*|(?:at|with|by|in|on|using|under|according)\b.*)$")
OVER_BASELINES = re.compile(r"(?i)\b(over|than|to|against|outperform\w*)\s+([\w-]+\s+){0,3}baselines?\b")
LETTERED = re.compile(r"^[(\[]?(?P<letter>[a-z0-9])[)\].:]\s*(?P<label>\S.*)$")


def impossible(grid: Grid) -> Findings:
    """Find marks of significance on numbers that do not beat the named row or baselines."""
    if SIGNIFICANT.search(grid.remarks):
        rivals = _named_rivals(grid) or _lettered(grid)
        for series, value in grid.numbers:
            yield from _of_value(grid, series, value, rivals)
        if not rivals and OVER_BASELINES.search(grid.remarks):
            yield from _over_baselines(grid)


def _over_baselines(grid: Grid) -> Findings:
    marked = [(series, value) for series, value in grid.numbers if value.cell.marks]
    ours = {value.line for _, value in marked}
    behind = [(s, v, best) for s, v in marked if (best := _not_behind(s, v, ours))]
    for series, value, best in behind if 4 * len(behind) <= len(marked) else ():
        says = f"{grid.where(series, value)} has the mark {value.cell.marks[0]}"
        why = f"The mark means significantly better than baselines, but {grid.label(best)} has {best.text}"
        yield Finding("doubt", "mark", value.place, says, why)


def _not_behind(series: Series, value: Value, ours: set[int]) -> Value | None:
    others = (other for other in series if other.line not in ours)
    best = max(others, key=lambda other: series.lead(other, value), default=None)
    return best if best and series.lead(best, value) >= 0 else None


def _of_value(grid: Grid, series: Series, value: Value, rivals: dict[str, int]) -> Findings:
    for mark in value.cell.marks:
        rival = series.values.get(rivals.get(mark, value.line), value)
        if rival is not value and (lead := series.lead(value, rival)) <= 0:
            says = f"{grid.where(series, value)} has the mark {mark}"
            why = f"The mark means significantly better than {grid.label(rival)}, which has {rival.text}"
            yield Finding("error" if lead < 0 else "doubt", "mark", value.place, says, why)


def _named_rivals(grid: Grid) -> dict[str, int]:
    rivals, matches = {}, (*OVER_MARK.finditer(grid.remarks), *MARK_OVER.finditer(grid.remarks))
    meanings = [(m["mark"], m["over"]) for m in matches]
    for one, other, *over in _IN_ORDER.findall(grid.remarks):
        meanings += zip((one, other), over, strict=True)
    for mark, text in meanings:
        words = text.strip().lower()
        names = {words, _AROUND.sub("", words).strip()}
        lines = [n for n, line in grid.lines.items() if line.label.lower() in names]
        if len(lines) == 1:
            rivals[mark] = lines[0]
    return rivals


def _lettered(grid: Grid) -> dict[str, int]:
    letters = [(m["letter"], n) for n, line in grid.lines.items() if (m := LETTERED.match(line.label))]
    once = len({letter for letter, _ in letters}) == len(letters)
    return dict(letters) if once and len(letters) > 1 else {}
