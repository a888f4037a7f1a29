"""Bold, underlined and marked numbers, and digits after the point, against the habit of their table."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Line, Series, Value

OTHER_MEANING = re.compile(r"(?i)\bbold(face|ed)?\b[^.;]*signific|signific[^.;]*\bbold|\bours?\b[^.;]*\bbold")
Members = list[Value]
STYLED = {"bold": "bold", "underline": "underlined"}
# what a style is the best, or second best, of: the lines of a series that have these in common
SCOPES: dict[str, Callable[[Line], object]] = {
    "column": lambda line: None,
    "group": lambda line: line.group,
    "block between rules": lambda line: line.block,
}


@dataclass(frozen=True)
class Scope:
    """Numbers of one series of which the best is marked, and whether they are as the habit has it."""

    series: Series
    members: tuple[Value, ...]
    right: bool


@dataclass(frozen=True)
class Habit:
    """How one table uses a style: the scope by which it is right most often, and all its scopes."""

    grid: Grid
    scope: str
    scopes: tuple[Scope, ...]

    @property
    def right(self) -> int:
        """Return in how many scopes the best is marked, and nothing else."""
        return sum(scope.right for scope in self.scopes)

    @property
    def wrong(self) -> int:
        """Return in how many it is otherwise."""
        return len(self.scopes) - self.right


def best(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find bold numbers that are not the best of their column or group, and equal ones that are not bold.

    The scope is the one by which most bold numbers of a table are the best. Without such a habit in the table
    and the whole source, or where a caption gives bold another meaning, nothing is said. A line that is
    better than the bold number in more than a third of its columns is taken for one that does not compete.
    """
    yield from _of_style([g for g in grids if not OTHER_MEANING.search(g.table.caption)], "bold", 0)


def second_best(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find underlined numbers that are not the second best, where most underlined ones are."""
    yield from _of_style(grids, "underline", 1)


def _styled(value: Value, style: str) -> bool:
    return value.cell.bold if style == "bold" else value.cell.underlined


def _of_style(grids: Sequence[Grid], style: str, rank: int) -> Iterator[Finding]:
    habits = [_habit(grid, style, rank) for grid in grids]
    right, wrong = sum(habit.right for habit in habits), sum(habit.wrong for habit in habits)
    if right < 3 or right < 3 * wrong:
        return
    for habit in habits:
        if 0 < habit.wrong <= habit.right:
            outside = _outside(_habit(habit.grid, "bold", 0).scopes)
            for scope in habit.scopes:
                if not scope.right and (rank == 0 or _best_is_bold(scope)):
                    yield from _of_scope(habit, scope, style, rank, outside)


def _best_is_bold(scope: Scope) -> bool:
    return all(value.cell.bold for value in _ranked(scope.series, scope.members, 0))


def _habit(grid: Grid, style: str, rank: int) -> Habit:
    habits = [Habit(grid, name, tuple(_scopes(grid, key, style, rank))) for name, key in SCOPES.items()]
    return max(habits, key=lambda habit: habit.right - habit.wrong)


def _scopes(grid: Grid, key: Callable[[Line], object], style: str, rank: int) -> Iterator[Scope]:
    """Yield the scopes, of series with a known direction, in which some numbers have the style."""
    for series in grid.series:
        groups: dict[object, Members] = {}
        for value in series.values.values():
            groups.setdefault(key(grid.lines[value.line]), []).append(value)
        for members in groups.values():
            styled = [value for value in members if _styled(value, style)]
            if styled and len(members) > 2 and series.sign and len(styled) < len(members):
                yield Scope(series, tuple(members), styled == _ranked(series, members, rank))


def _ranked(series: Series, members: Sequence[Value], rank: int) -> Members:
    """Return the members with the best number, or of rank 1 with the second best."""
    numbers = sorted({value.number for value in members}, reverse=series.sign > 0)
    return [v for v in members if len(numbers) > rank and v.number == numbers[rank]]


def _outside(scopes: Sequence[Scope]) -> set[int]:
    """Return the lines that are ahead of what is bold everywhere, or in more than a third of two and more."""
    ahead, numbers = Counter[int](), Counter[int]()
    for scope in scopes:
        marked = max(v.number * scope.series.sign for v in scope.members if v.cell.bold)
        for value in scope.members:
            numbers[value.line] += 1
            ahead[value.line] += value.number * scope.series.sign > marked
    return {n for n, often in ahead.items() if often == numbers[n] or (often > 1 and 3 * often > numbers[n])}


def _of_scope(habit: Habit, scope: Scope, style: str, rank: int, outside: set[int]) -> Iterator[Finding]:
    members = [v for v in scope.members if v.line not in outside or _styled(v, style)]
    target, styled = _ranked(scope.series, members, rank), [v for v in members if _styled(v, style)]
    if not target:
        return
    word = ("best", "second best")[rank]
    why = f"the {word} of its {habit.scope} is {target[0].cell.text} ({_labels(habit.grid, target)})"
    for value in styled:
        if value.number != target[0].number:
            says = f"{habit.grid.where(scope.series, value)} is {STYLED[style]} and not the {word}"
            told = f"{habit.right} others of the table are as it should be"
            yield Finding("doubt", style, value.place, says, f"{why}; {told}")
    for value in target:
        if not _styled(value, style) and any(other.number == value.number for other in styled):
            says = f"{habit.grid.where(scope.series, value)} is not {STYLED[style]}"
            yield Finding("note", style, value.place, f"{says}, and equal to one that is", why)


def _labels(grid: Grid, values: Members) -> str:
    return ", ".join(grid.lines[value.line].label for value in values)


def decimals(grid: Grid) -> Iterator[Finding]:
    """Find the few numbers of a column of scores that have other digits after the point than all else.

    Said once a column, at the first; columns where a fifth of the numbers differ have no habit, and lines
    whose numbers are mostly so have one of their own.
    """
    odd = [(series, *told) for series in grid.scores if (told := _odd_digits(series))]
    often = Counter(value.line for _, _, values in odd for value in values)
    for series, usual, values in odd:
        kept = [v for v in values if 2 * often[v.line] <= max(2, grid.numbers_on(v.line))]
        if kept:
            says = "; ".join(grid.where(series, value) for value in kept)
            number = len(series.values) - len(values)
            why = f"{number} numbers of the column have {usual} digits after the point"
            yield Finding("note", "decimals", kept[0].place, says, why)


def _odd_digits(series: Series) -> tuple[int, list[Value]] | None:
    """Return the usual number of digits, and the values that have another; None without a habit."""
    numbers = [value for value in series.values.values() if value.number]
    usual, often = next(iter(Counter(value.decimals for value in numbers).most_common(1)), (0, 0))
    odd = [value for value in numbers if value.decimals != usual]
    return (usual, odd) if odd and often >= max(5, 5 * len(odd)) else None


_OVER = r"(?:improve\w*|better|gains?|outperform\w*|higher|superior\w*|increase\w*)"
SIGNIFICANT = re.compile(rf"(?i)signific\w*[^.;]*{_OVER}|{_OVER}[^.;]*signific")
SIGNS = "†‡§¶⋆★*♠♣♦♥△▲◦∗"
MARK_OVER = re.compile(
    rf"(?P<mark>[{SIGNS}]+)[^{SIGNS}.;]*?\b(?:over|than|outperform\w*|against|compared (?:to|with))\s+"
    rf"(?P<over>[^.;,({SIGNS}]+)"
)
LETTERED = re.compile(r"^[(\[]?(?P<letter>[a-z0-9])[)\].:]\s*(?P<label>\S.*)$")


def marks(grid: Grid) -> Iterator[Finding]:
    """Find marks of significance on numbers that are no better than that of the row they are said to beat.

    The caption has to say that marks stand for significant improvements, and over which row: by its name
    behind the mark, or by letters that rows are lettered with. All other marks are left alone.
    """
    caption = grid.table.caption
    if not SIGNIFICANT.search(caption):
        return
    meanings = _named_rivals(grid, caption) or _lettered(grid)
    for series in grid.scores:
        for value in series.values.values():
            for mark in value.cell.marks:
                rival = series.values.get(meanings.get(mark, -1))
                if rival is None or rival.line == value.line:
                    continue
                lead = (value.number - rival.number) * series.sign
                if lead <= 0:
                    says = f"{grid.lines[value.line].label}, {series.name}: {value.cell.text} with {mark}"
                    over = f"{grid.lines[rival.line].label}, which has {rival.cell.text}"
                    why = f"the mark stands for a significant improvement over {over}"
                    yield Finding("error" if lead < 0 else "doubt", "mark", value.place, says, why)


def _named_rivals(grid: Grid, caption: str) -> dict[str, int]:
    """Return mark -> the one line whose label the caption has behind it."""
    rivals = {}
    for match in MARK_OVER.finditer(caption):
        words = match["over"].strip().lower()
        lines = [n for n, line in grid.lines.items() if line.label and line.label.lower() == words]
        if len(lines) == 1:
            rivals[match["mark"]] = lines[0]
    return rivals


def _lettered(grid: Grid) -> dict[str, int]:
    """Return letter -> the line that it stands before, where at least two lines are lettered, each once."""
    letters = [(m["letter"], n) for n, line in grid.lines.items() if (m := LETTERED.match(line.label))]
    once = len({letter for letter, _ in letters}) == len(letters)
    return dict(letters) if once and len(letters) > 1 else {}
