"""Differences against the two numbers that they are between, which are found by what fits most cells."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from repro.manifest.decimals import half_unit
from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Line, Series, Value

LEAST = 4  # differences that have to fit before others are at fault
MOST_IN_GROUP = 30  # series among which two are searched for
MOST_SERIES = 50  # beside differences; in a table with more none of their pairs is tried
FIRST_OF: tuple[tuple[str, Callable[[Line], Hashable]], ...] = (
    ("its group", lambda line: line.group),
    ("its block between rules", lambda line: line.block),
)


@dataclass(frozen=True)
class Between:
    """Numbers that a difference may be between: what it is from, and its series for words."""

    series: Series
    value: Value
    base: Value

    @property
    def fits(self) -> bool:
        """Return whether the difference printed behind the value is that to the base."""
        assert self.value.delta is not None
        shares = (True, False) if self.value.relative else (False,)
        delta, decimals = self.value.delta, self.value.delta_decimals
        return any(_agrees(self.value, self.base, delta, decimals, share) for share in shares)


def behind_values(grid: Grid) -> Iterator[Finding]:
    """Find differences printed behind a number that are not those to any one line, group's head or column.

    The number that they are from is found by search; what four of them and three quarters of all agree with
    counts.
    """
    printed = [(s, v) for s in grid.series for v in s.values.values() if v.delta is not None]
    bases = _bases(grid) if len(printed) >= LEAST else ()
    pairs = ((words, _between(printed, base)) for words, base in bases)
    name, best = max(pairs, key=lambda pair: _right(pair[1]), default=("", []))
    right = _right(best)
    for pair in best if right >= LEAST and 4 * right >= 3 * len(best) else ():
        if not pair.fits:
            exact = pair.value.number - pair.base.number
            says = f"{grid.where(pair.series, pair.value)} does not differ so from {pair.base.cell.text}"
            why = f"the difference to {name} is {exact:+f}, and {right} of {len(best)} differences are to it"
            yield Finding("error", "delta", pair.value.place, says, why)


def _between(printed: list[tuple[Series, Value]], base: dict[tuple[Series, int], Value]) -> list[Between]:
    pairs = [Between(s, v, base[s, v.line]) for s, v in printed if (s, v.line) in base]
    return [pair for pair in pairs if pair.base is not pair.value]


def _right(pairs: list[Between]) -> int:
    return sum(pair.fits for pair in pairs)


def _bases(grid: Grid) -> Iterator[tuple[str, dict[tuple[Series, int], Value]]]:
    """Yield what differences may be from: a line, the first of a group, the line above, another series."""
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


def _from_lines(grid: Grid, bases: dict[int, int]) -> dict[tuple[Series, int], Value]:
    return {(s, n): s.values[base] for s in grid.series for n, base in bases.items() if base in s.values}


@dataclass(frozen=True)
class Explained:
    """Two series that another is the difference of, and the lines where it is and where it is not."""

    one: Series
    other: Series
    is_share: bool
    right: tuple[int, ...]
    wrong: tuple[int, ...]


def in_series(grid: Grid) -> Iterator[Finding]:
    """Find numbers under a heading of differences that are not those of two series, found by search."""
    others = [series for series in grid.series if not series.is_difference]
    if 1 < len(others) <= MOST_SERIES:
        pairs = [pair for pair in product(others, others, (False, True)) if pair[0] is not pair[1]]
        for series in filter(lambda each: each.is_difference, grid.series):
            best = max((_explained(series, *pair) for pair in pairs), key=lambda each: len(each.right))
            if len(best.right) >= max(LEAST, 3 * len(best.wrong)):
                yield from (_finding(grid, series, best, line, len(best.right)) for line in best.wrong)


def in_groups(grid: Grid) -> Iterator[Finding]:
    """Find likewise differences of two series that every group has, where one group has too few to tell."""
    pooled: dict[str, dict[Hashable, list[tuple[Series, Explained]]]] = {}
    for series, pair in _within_groups(grid):
        key = (pair.one.heads[-1], pair.other.heads[-1], pair.is_share)
        pooled.setdefault(series.heads[-1], {}).setdefault(key, []).append((series, pair))
    for pairs in pooled.values():
        best = max(pairs.values(), key=_fitting)
        if _fitting(best) >= max(LEAST, 3 * sum(len(pair.wrong) for _, pair in best)):
            wrong = [(series, pair, line) for series, pair in best for line in pair.wrong]
            yield from (_finding(grid, *each, _fitting(best)) for each in wrong)


def _within_groups(grid: Grid) -> Iterator[tuple[Series, Explained]]:
    for series in (each for each in grid.series if each.is_difference and 0 < len(each.values) < LEAST):
        others = _absolute_beside(grid, series)
        pairs = product(others, others, (False, True)) if len(others) <= MOST_IN_GROUP else ()
        yield from ((series, _explained(series, *pair)) for pair in pairs if pair[0] is not pair[1])


def _absolute_beside(grid: Grid, series: Series) -> list[Series]:
    """Return the series under the same heading that are no differences."""
    return [o for o in grid.series if o.heads[:-1] == series.heads[:-1] and not o.is_difference]


def _fitting(explained: Sequence[tuple[Series, Explained]]) -> int:
    return sum(len(pair.right) for _, pair in explained)


def _explained(series: Series, one: Series, other: Series, is_share: bool) -> Explained:
    lines = [n for n in series.values if n in one.values and n in other.values]
    fits = {n: _difference_is(series.values[n], one.values[n], other.values[n], is_share) for n in lines}
    right, wrong = (tuple(n for n in lines if fits[n] is is_right) for is_right in (True, False))
    return Explained(one, other, is_share, right, wrong)


def _finding(grid: Grid, series: Series, pair: Explained, line: int, right: int) -> Finding:
    value, one, other = series.values[line], pair.one.values[line], pair.other.values[line]
    exact = one.number - other.number
    exact = 100 * exact / other.number if pair.is_share and other.number else exact
    says = f"{grid.where(series, value)} is not the difference of {one.cell.text} and {other.cell.text}"
    told = f"{exact:+.3f}{' %' * pair.is_share}"
    why = f"{pair.one.name} to {pair.other.name} is {told}, and {right} others are so"
    return Finding("error", "delta", value.place, says, why)


def _difference_is(delta: Value, one: Value, base: Value, is_share: bool) -> bool:
    return _agrees(one, base, delta.number, delta.decimals, is_share)


def _agrees(one: Value, base: Value, delta: Decimal, decimals: int, is_share: bool) -> bool:
    """Return whether numbers that round to the printed ones can differ so; the sign may be left out."""
    low = one.number - one.half - base.number - base.half
    high = one.number + one.half - base.number + base.half
    if is_share:
        if base.number <= base.half:
            return False
        low = 100 * ((one.number - one.half) / (base.number + base.half) - 1)
        high = 100 * ((one.number + one.half) / (base.number - base.half) - 1)
    half = half_unit(decimals)
    return any(low - half <= sign * delta <= high + half for sign in (1, -1))
