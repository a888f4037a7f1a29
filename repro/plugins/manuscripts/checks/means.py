"""Averages and sums against the cells that they are of, which are found by what fits most lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import takewhile

from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value

SIZE = re.compile(r"\((\d+)\)\s*$")  # of how many collections a number is the mean


@dataclass(frozen=True)
class Parts:
    """Series that a total may be of; its check says whether it is an average or a sum."""

    check: str
    total: Series
    series: tuple[Series, ...]

    @cached_property
    def lines(self) -> dict[int, bool]:
        """Return the lines that have all numbers, and whether they fit."""
        whole = [n for n in self.total.values if all(n in part.values for part in self.series)]
        return {line: self._fits(line) for line in whole}

    @property
    def right(self) -> int:
        """Return how many lines fit."""
        return sum(self.lines.values())

    @property
    def lead(self) -> int:
        """Return how many more lines fit than do not."""
        return 2 * self.right - len(self.lines)

    def explains(self, least: int) -> bool:
        """Return whether twice as many lines fit as do not, so that these are wrong, and not the parts."""
        return self.right >= max(least, 2 * (len(self.lines) - self.right))

    def cells(self, line: int) -> list[Value]:
        """Return the numbers of a line that the total is of."""
        return [part.values[line] for part in self.series]

    @cached_property
    def weights(self) -> list[int]:
        """Return how often each number counts: of "A (12)" and "B (3)" in "Avg. (15)" so often, else once."""
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
        """Return whether numbers that round to the printed ones can have this total; counts are exact."""
        cells, total = self.cells(line), self.total.values[line]
        if self.check == "sum" and not any(cell.decimals for cell in cells):
            return total.number == self.exact(line)
        slack = self._total([cell.half for cell in cells]) + total.half
        return abs(total.number - self.exact(line)) <= slack

    def without_one(self) -> Iterator["Parts"]:
        """Yield the parts with each left out in its turn."""
        for left_out in self.series if len(self.series) > 2 else ():
            yield Parts(self.check, self.total, tuple(p for p in self.series if p is not left_out))


def totals(grid: Grid) -> Iterator[Finding]:
    """Find averages and sums outside of every value that their printed cells leave possible.

    Which cells a total covers is found by search: those beside it, before it, under the same heading; each
    also without one of them. What most lines agree with counts; without such agreement nothing is said.
    """
    for series in filter(lambda each: each.total, grid.series):
        plausible = [Parts(series.total, series, parts) for parts in _plausible(grid, series)]
        parts = _explanation(plausible)
        if parts:
            yield from (_finding(grid, parts, line) for line in _wrong_lines(parts, plausible))


def _wrong_lines(parts: Parts, plausible: Sequence[Parts]) -> list[int]:
    """Return the lines that no parts explain; a sum that is a percentage is none of these."""
    wrong = [n for n in parts.lines if not any(each.lines.get(n) for each in (parts, *plausible))]
    return [n for n in wrong if parts.check == "average" or not _is_share(parts.total.values[n])]


def _is_share(value: Value) -> bool:
    """Return whether a number is a percentage, which no sum of percentages is."""
    return "%" in value.cell.text


def _explanation(plausible: Sequence[Parts]) -> Parts | None:
    """Return the parts that fit best, if they fit well; else the best of those without one of them."""
    for candidates, least in ((plausible, 2), ([p for parts in plausible for p in parts.without_one()], 3)):
        best = max(candidates, key=lambda parts: (parts.lead, parts.right), default=None)
        if best and best.explains(least):
            return best
    return None


def _plausible(grid: Grid, total: Series) -> list[tuple[Series, ...]]:
    """Return the sets of series that a total may be of, each once, of two at least."""
    place = grid.series.index(total)
    around = (grid.series[:place][::-1], grid.series[place + 1 :], grid.series)
    sets = [*map(_parts, around), *(_parts(takewhile(_is_part, part)) for part in around)]
    sets += [tuple(filter(lambda series: series.is_score, part)) for part in sets[:3]]
    sets += [tuple(series for series in sets[2] if head in series.heads) for head in total.heads]
    unique = dict.fromkeys(tuple(sorted(parts, key=grid.series.index)) for parts in sets)
    return [parts for parts in unique if len(parts) > 1]


def _parts(series: Iterable[Series]) -> tuple[Series, ...]:
    return tuple(filter(_is_part, series))


def _is_part(series: Series) -> bool:
    return not series.total


def _finding(grid: Grid, parts: Parts, line: int) -> Finding:
    value, word = parts.total.values[line], "mean" if parts.check == "average" else "sum"
    fitting = [less for less in parts.without_one() if less.lines.get(line)]
    names = f"{parts.series[0].name or 'the first'} to {parts.series[-1].name or 'the last'}"
    says = f"{grid.where(parts.total, value)} is not the {word} of its {len(parts.series)} cells"
    exact = f"{parts.exact(line):.{value.decimals + 1}f}"
    why = f"the {word} of {names} is {exact}, and {parts.right} other lines have theirs"
    if fitting:
        [left_out] = set(parts.series) - set(fitting[0].series)
        why += f"; without {left_out.name} it would fit"
    return Finding("doubt" if fitting else "error", parts.check, value.place, says, why)
