"""Checks of averages, sums and differences. The best fit determines the numbers that they cover. For example,
an "Avg." column fits the five columns before it on most lines and fails on one."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import filterfalse, product, takewhile
from operator import attrgetter

from repro.manifest.printed import half_unit
from repro.plugins.manuscripts.checks import Finding
from repro.plugins.manuscripts.series import Grid, Line, Series, Value

SIZE = re.compile(r"\((\d+)\)\s*$")  # of how many collections a number is the mean


@dataclass(frozen=True)
class Parts:
    """A candidate set of series for a total, which is an average or a sum according to ``check``."""

    check: str
    total: Series
    series: tuple[Series, ...]

    @cached_property
    def lines(self) -> dict[int, bool]:
        """Return line -> True if the total fits, for lines with all numbers."""
        whole = [n for n in self.total.values if all(n in part.values for part in self.series)]
        return {line: self._fits(line) for line in whole}

    @property
    def right(self) -> int:
        """Return the number of fitting lines."""
        return sum(self.lines.values())

    @property
    def lead(self) -> int:
        """Return the number of fitting lines minus the number of others."""
        return 2 * self.right - len(self.lines)

    def explains(self, least: int) -> bool:
        """Return whether the total fits at least ``least`` lines, and twice as many as it does not fit."""
        return self.right >= max(least, 2 * (len(self.lines) - self.right))

    def cells(self, line: int) -> list[Value]:
        """Return the numbers of a line that the total covers."""
        return [part.values[line] for part in self.series]

    @cached_property
    def weights(self) -> list[int]:
        """Return the weight of each number, e.g. 12 and 3 for "A (12)" and "B (3)" in "Avg. (15)", or 1."""
        sizes = [int(match[1]) if (match := SIZE.search(part.name)) else 0 for part in self.series]
        match = SIZE.search(self.total.name) if self.check == "average" else None
        return sizes if match and int(match[1]) == sum(sizes) and all(sizes) else [1] * len(sizes)

    def exact(self, line: int) -> Decimal:
        """Return the total of the printed numbers."""
        return self._total([cell.number for cell in self.cells(line)])

    def _total(self, numbers: Sequence[Decimal]) -> Decimal:
        number = sum((n * times for n, times in zip(numbers, self.weights, strict=True)), Decimal())
        return number / sum(self.weights) if self.check == "average" else number

    def _fits(self, line: int) -> bool:
        cells, total = self.cells(line), self.total.values[line]
        if self.check == "sum" and not any(cell.decimals for cell in cells):
            return total.number == self.exact(line)
        slack = self._total([cell.half for cell in cells]) + total.half
        return abs(total.number - self.exact(line)) <= slack

    def without_one(self) -> Iterator["Parts"]:
        """Yield the parts without each one in turn."""
        for left_out in self.series if len(self.series) > 2 else ():
            yield Parts(self.check, self.total, tuple(p for p in self.series if p is not left_out))


def totals(grid: Grid) -> Iterator[Finding]:
    """Find averages and sums that their cells cannot give."""
    for series in filter(lambda each: each.total, grid.series):
        plausible = [Parts(series.total, series, parts) for parts in _plausible(grid, series)]
        parts = _explanation(plausible)
        if parts:
            yield from (_finding(grid, parts, line) for line in _wrong_lines(parts, plausible))
        elif thin := _thin_explanation(plausible):
            yield from (_finding(grid, thin, line, is_thin=True) for line in _wrong_lines(thin, plausible))


def explanation(grid: Grid, series: Series) -> Parts | None:
    """Return the columns that a total covers, if they explain most of its lines."""
    return _explanation([Parts(series.total, series, parts) for parts in _plausible(grid, series)])


def _thin_explanation(plausible: Sequence[Parts]) -> Parts | None:
    """Return the parts of a total with two lines, if one is right and the other is near."""
    best = max(plausible, key=lambda parts: parts.right, default=None)
    if best is None or len(best.lines) != 2 or best.right != 1:
        return None
    [wrong] = (line for line, fits in best.lines.items() if not fits)
    exact = best.exact(wrong)
    return best if 10 * abs(best.total.values[wrong].number - exact) <= abs(exact) else None


def _wrong_lines(parts: Parts, plausible: Sequence[Parts]) -> list[int]:
    wrong = [n for n in parts.lines if not any(each.lines.get(n) for each in (parts, *plausible))]
    return [n for n in wrong if parts.check == "average" or "%" not in parts.total.values[n].cell.text]


def _explanation(plausible: Sequence[Parts]) -> Parts | None:
    for candidates, least in ((plausible, 2), ([p for parts in plausible for p in parts.without_one()], 3)):
        best = max(candidates, key=lambda parts: (parts.lead, parts.right), default=None)
        if best and best.explains(least):
            return best
    return None


def _plausible(grid: Grid, total: Series) -> list[tuple[Series, ...]]:
    place = grid.series.index(total)
    around = (grid.series[:place][::-1], grid.series[place + 1 :], grid.series)
    parts = [list(filterfalse(attrgetter("total"), part)) for part in around]
    sets = [*parts, *(list(takewhile(lambda series: not series.total, part)) for part in around)]
    sets += [list(filter(attrgetter("is_score"), part)) for part in parts]
    sets += [[series for series in parts[2] if head in series.heads] for head in total.heads]
    unique = dict.fromkeys(tuple(sorted(part, key=grid.series.index)) for part in sets)
    return [part for part in unique if len(part) > 1]


def _finding(grid: Grid, parts: Parts, line: int, *, is_thin: bool = False) -> Finding:
    value, word = parts.total.values[line], "mean" if parts.check == "average" else "sum"
    fitting = [less for less in parts.without_one() if less.lines.get(line)]
    names = f"{parts.series[0].name or 'the first'} to {parts.series[-1].name or 'the last'}"
    says = f"{grid.where(parts.total, value)} is not the {word} of its {len(parts.series)} cells"
    exact = f"{parts.exact(line):.{value.decimals + 1}f}"
    why = f"The {word} of {names} is {exact}, and {_lines_right(parts.right)}"
    if fitting:
        [left_out] = set(parts.series) - set(fitting[0].series)
        why += f". It fits without {left_out.name}"
    severity = "note" if is_thin else "doubt" if fitting else "error"
    return Finding(severity, parts.check, value.place, says, why)


def _lines_right(number: int) -> str:
    return "one other line is right" if number == 1 else f"{number} other lines are right"


LEAST = 4  # fitting differences that are required before others count as wrong
THIN = 3  # differences of which one may be wrong, as a note
MOST_IN_GROUP = 30  # series per group, for the search of pairs
MOST_SERIES = 50  # without differences (pairs of more series are not searched)
Bases = dict[tuple[Series, int], Value]  # (series, line) -> the base of a difference
FIRST_OF: tuple[tuple[str, Callable[[Line], Hashable]], ...] = (
    ("its group", lambda line: line.group),
    ("its block between rules", lambda line: line.block),
)


def behind_values(grid: Grid) -> Iterator[Finding]:
    """Find differences printed after a number that differ from the base used by most others. Bases are any
    line, the first line of a group or block, the line above, or a column."""
    printed = [(s, v) for s in grid.series for v in s.values.values() if v.delta is not None]
    bases = _bases(grid) if len(printed) >= THIN else ()
    found = [(name, _fitting_to(base, printed, sign)) for name, base in bases for sign in (1, -1)]
    name, best = max(found, key=lambda pair: sum(pair[1].values()), default=("", {}))
    right = sum(best.values())
    wrong = filterfalse(best.get, best)
    severity = _severity(right, len(best) - right)
    for series, value, base in wrong if severity else ():
        says = f"{grid.where(series, value)} does not differ by this from {base.cell.text}"
        exact = value.number - base.number
        why = f"The difference from {name} is {exact:+f}. {right} of {len(best)} are from it"
        yield Finding(severity, "delta", value.place, says, why)


def _severity(right: int, wrong: int) -> str:
    """Return the severity of differences that do not fit: a note for one of three, "" without evidence."""
    if right >= max(LEAST, 3 * wrong):
        return "error"
    return "note" if wrong == 1 and right + wrong >= THIN else ""


def _fitting_to(
    bases: Bases, printed: list[tuple[Series, Value]], sign: int
) -> dict[tuple[Series, Value, Value], bool]:
    pairs = [(series, value, bases.get((series, value.line), value)) for series, value in printed]
    return {pair: _is_printed(*pair[1:], sign) for pair in pairs if pair[1] is not pair[2]}


def _is_printed(value: Value, base: Value, sign: int) -> bool:
    assert value.delta is not None
    shares = (True, False) if value.relative else (False,)
    printed = sign * value.delta, value.delta_decimals
    return any(_agrees(value, base, *printed, share, signs=(1,)) for share in shares)


def _bases(grid: Grid) -> Iterator[tuple[str, Bases]]:
    lines = list(grid.lines)
    for number, line in grid.lines.items():
        yield line.label, _from_lines(grid, dict.fromkeys(lines, number))
    for words, key in FIRST_OF:
        first: dict[Hashable, int] = {}
        for number in lines:
            first.setdefault(key(grid.lines[number]), number)
        yield f"the first of {words}", _from_lines(grid, {n: first[key(grid.lines[n])] for n in lines})
    yield "the line above", _from_lines(grid, dict(zip(lines[1:], lines, strict=False)))
    for other in grid.series:
        yield other.name, {(s, line): value for s in grid.series for line, value in other.values.items()}


def _from_lines(grid: Grid, bases: dict[int, int]) -> Bases:
    return {(s, n): s.values[base] for s in grid.series for n, base in bases.items() if base in s.values}


@dataclass(frozen=True)
class Explained:
    """Two series with another as their difference, and the lines where this is right or wrong."""

    one: Series
    other: Series
    is_share: bool
    right: tuple[int, ...]
    wrong: tuple[int, ...]


def in_series(grid: Grid) -> Iterator[Finding]:
    """Find numbers in a series of differences that do not fit the two series with the best fit."""
    others = [series for series in grid.series if not series.is_difference]
    places = {series: place for place, series in enumerate(grid.series)}
    if 1 < len(others) <= MOST_SERIES:
        pairs = [pair for pair in product(others, others, (False, True)) if pair[0] is not pair[1]]
        for series in filter(lambda each: each.is_difference, grid.series):
            best = max((_explained(series, *pair) for pair in pairs), key=lambda each: len(each.right))
            if severity := _severity(len(best.right), len(best.wrong)):
                is_near = abs(places[best.one] - places[best.other]) <= 2 and not best.is_share
                wrong = best.wrong if severity == "error" or is_near else ()
                for line in wrong:
                    yield _of_difference(grid, series, best, line, len(best.right), severity)


def from_line(grid: Grid) -> Iterator[Finding]:
    """Find wrong differences between a series beside them and one of its lines, e.g. the first of an
    ablation."""
    places = {series: place for place, series in enumerate(grid.series)}
    for series in (each for each in grid.series if each.is_difference and len(each.values) >= THIN):
        others = [o for o in grid.series if not o.is_difference and 0 < places[series] - places[o] <= 2]
        found = [
            (_explained(series, *pair, is_share), line)
            for other in others
            for line in other.values
            for pair in _with_line(grid, other, line)
            for is_share in (False, True)
        ]
        best, _ = max(found, key=lambda each: len(each[0].right), default=(None, 0))
        severity = _severity(len(best.right), len(best.wrong)) if best else ""
        if best and severity and (severity == "error" or not best.is_share):
            for wrong in best.wrong:
                yield _of_difference(grid, series, best, wrong, len(best.right), severity)


def _with_line(grid: Grid, other: Series, line: int) -> list[tuple[Series, Series]]:
    base = Series((grid.lines[line].label,), {n: other.values[line] for n in other.values if n != line})
    return [(other, base), (base, other)]


def in_groups(grid: Grid) -> Iterator[Finding]:
    """Find wrong differences of two series that occur in several groups, if one group has too few numbers."""
    pooled: dict[tuple[str, ...], dict[Hashable, list[tuple[Series, Explained]]]] = {}
    for series, pair in _within_groups(grid):
        key = (pair.one.heads[-1:], pair.other.heads[-1:], pair.is_share)
        pooled.setdefault(series.heads[-1:], {}).setdefault(key, []).append((series, pair))
    for pairs in pooled.values():
        best = max(pairs.values(), key=_fitting)
        if _fitting(best) >= max(LEAST, 3 * sum(len(pair.wrong) for _, pair in best)):
            wrong = [(series, pair, line) for series, pair in best for line in pair.wrong]
            yield from (_of_difference(grid, *each, _fitting(best)) for each in wrong)


def _within_groups(grid: Grid) -> Iterator[tuple[Series, Explained]]:
    for series in (each for each in grid.series if each.is_difference and 0 < len(each.values) < LEAST):
        others = _absolute_beside(grid, series)
        pairs = product(others, others, (False, True)) if len(others) <= MOST_IN_GROUP else ()
        yield from ((series, _explained(series, *pair)) for pair in pairs if pair[0] is not pair[1])


def _absolute_beside(grid: Grid, series: Series) -> list[Series]:
    return [o for o in grid.series if o.heads[:-1] == series.heads[:-1] and not o.is_difference]


def _fitting(explained: Sequence[tuple[Series, Explained]]) -> int:
    return sum(len(pair.right) for _, pair in explained)


def _explained(series: Series, one: Series, other: Series, is_share: bool) -> Explained:
    shared = [n for n in series.values if n in one.values and n in other.values]
    lines = [n for n in shared if one.values[n].decimals or not series.values[n].decimals]  # else by chance
    printed = {n: (series.values[n].number, series.values[n].decimals) for n in lines}
    is_signed = any(re.match(r"[-+−–]", value.cell.text) for value in series.values.values())
    signs = (1,) if is_signed else (1, -1)
    fits = {n: _agrees(one.values[n], other.values[n], *printed[n], is_share, signs=signs) for n in lines}
    right, wrong = (tuple(n for n in lines if fits[n] is is_right) for is_right in (True, False))
    return Explained(one, other, is_share, right, wrong)


def _of_difference(
    grid: Grid, series: Series, pair: Explained, line: int, right: int, severity: str = "error"
) -> Finding:
    value, one, other = series.values[line], pair.one.values[line], pair.other.values[line]
    exact = one.number - other.number
    exact = 100 * exact / other.number if pair.is_share and other.number else exact
    says = f"{grid.where(series, value)} is not the difference of {one.cell.text} and {other.cell.text}"
    difference = f"{exact:+.3f}{' %' * pair.is_share}"
    why = f"{pair.one.name} minus {pair.other.name} is {difference}, and {right} others fit"
    return Finding(severity, "delta", value.place, says, why)


def _agrees(
    one: Value, base: Value, delta: Decimal, decimals: int, is_share: bool, *, signs: tuple[int, ...]
) -> bool:
    low = one.number - one.half - base.number - base.half
    high = one.number + one.half - base.number + base.half
    if is_share:
        if base.number <= base.half:
            return False
        low = 100 * ((one.number - one.half) / (base.number + base.half) - 1)
        high = 100 * ((one.number + one.half) / (base.number - base.half) - 1)
    half = half_unit(decimals)
    return any(low - half <= sign * delta <= high + half for sign in signs)
