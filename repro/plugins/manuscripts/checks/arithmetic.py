"""Checks averages, sums and differences, e.g. an "Avg." that is wrong on one line."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain, filterfalse, product, takewhile
from operator import attrgetter, itemgetter

from repro.manifest.printed import half_unit
from repro.plugins.manuscripts.checks import NUMERALS, Finding, Findings, numeral
from repro.plugins.manuscripts.series import Grid, Series, Value

SIZE = re.compile(r"\((?P<n>\d+)\)\s*$")  # of how many collections a number is the mean
OVER = re.compile(
    rf"(?i)\b(?:averag\w*|avg\.?|means?)\b[^.;]{{0,40}}?\b(?:over|of|across|on)\s+(?:all\s+|the\s+)*"
    rf"(?P<n>\d+|{NUMERALS})\s+(?:\w+\s+)?(?:datasets|collections|tasks|benchmarks|corpora|languages|domains|test\s+sets)\b"
)


@dataclass(frozen=True)
class Parts:
    """A total and series that it may be the average or sum of. ``check`` is "average" or "sum"."""

    check: str
    total: Series
    series: tuple[Series, ...]

    @cached_property
    def lines(self) -> dict[int, bool]:
        """Line -> whether the total fits, for lines without an empty cell."""
        whole = [n for n in self.total.values if all(n in part.values for part in self.series)]
        return {line: self._fits(line) for line in whole}

    @property
    def right(self) -> int:
        return sum(self.lines.values())

    @cached_property
    def weights(self) -> list[int]:
        """A weight per series, e.g. [12, 3] for "A (12)" and "B (3)" in "Avg. (15)", otherwise 1."""
        matches = (SIZE.search(part.name) for part in (*self.series, self.total))
        *sizes, total = (int(m[1]) if m else 0 for m in matches)
        is_weighted = self.check == "average" and all(sizes) and total == sum(sizes)
        return sizes if is_weighted else [1] * len(sizes)

    def exact(self, line: int) -> Decimal:
        return self._total(part.values[line].number for part in self.series)

    def _total(self, numbers: Iterable[Decimal]) -> Decimal:
        number = sum((n * times for n, times in zip(numbers, self.weights, strict=True)), Decimal())
        return number / sum(self.weights) if self.check == "average" else number

    def _fits(self, line: int) -> bool:
        cells, total = [part.values[line] for part in self.series], self.total.values[line]
        is_exact = self.check == "sum" and not any(c.decimals for c in cells)
        slack = Decimal() if is_exact else self._total(c.half for c in cells) + total.half
        return abs(total.number - self.exact(line)) <= slack

    def without_one(self) -> Iterator["Parts"]:
        for left_out in self.series if len(self.series) > 2 else ():
            yield Parts(self.check, self.total, tuple(p for p in self.series if p is not left_out))


Seen = defaultdict[str, set[int]]  # kind of number -> the ids of the compared cells
TOTALS, DIFFERENCES = "averages and sums", "differences"


def totals(grid: Grid, seen: Seen) -> Findings:
    """Find averages and sums that their cells cannot give. Adds compared cells to ``seen``."""
    for series in filter(attrgetter("total"), grid.series):
        plausible = _plausible(grid, series)
        of_number = [parts for parts in plausible if len(parts.series) == stated(grid, series)]
        parts = _explanation(plausible) or _explanation(of_number, times=1)
        if best := parts or _thin_explanation(plausible):
            seen[TOTALS].update(id(series.values[line].cell) for line in best.lines)
            for line in _wrong_lines(best, plausible):
                yield _finding(grid, best, line, is_thin=parts is None)


def in_several_tables(grids: Sequence[Grid], seen: Seen) -> Findings:
    """Find wrong averages over the columns of several tables. Adds compared cells to ``seen``."""
    for place, grid in enumerate(grids):
        ends = product(range(place + 1), range(place + 1, len(grids) + 1))
        runs = [grids[first:last] for first, last in ends if last - first > 1]
        for total in (each for each in grid.series if each.total == "average" and stated(grid, each)):
            parts = [tuple(chain.from_iterable(_on_lines_of(grid, each) for each in run)) for run in runs]
            plausible = [Parts("average", total, p) for p in parts if len(p) == stated(grid, total)]
            if best := _explanation(plausible):
                seen[TOTALS].update(id(total.values[line].cell) for line in best.lines)
                yield from (_finding(grid, best, line, is_thin=False) for line in _wrong_lines(best, ()))


def stated(grid: Grid, total: Series) -> int:
    """Return the number of collections that heading or caption gives, e.g. 13 for "Avg. (13)", or 0."""
    found = (*SIZE.finditer(total.name), *OVER.finditer(f"{total.name}. {grid.remarks}"))
    numbers = {numeral(match["n"]) or 0 for match in found}
    return max(numbers) if len(numbers) == 1 else 0


def _on_lines_of(grid: Grid, other: Grid) -> Iterator[Series]:
    lines = {line.label: number for number, line in grid.lines.items()}
    for series in (each for each in other.scores if not (each.total or each.is_difference)):
        values = {lines[other.label(v)]: v for v in series if other.label(v) in lines}
        yield replace(series, values=values)


def explanation(grid: Grid, series: Series) -> Parts | None:
    return _explanation(_plausible(grid, series))


def _thin_explanation(plausible: Sequence[Parts]) -> Parts | None:
    best = max(plausible, key=attrgetter("right"), default=None)
    if best is None or sorted(best.lines.values()) != [False, True]:
        return None
    [wrong] = (line for line, fits in best.lines.items() if not fits)
    exact = best.exact(wrong)
    return best if 10 * abs(best.total.values[wrong].number - exact) <= abs(exact) else None


def _wrong_lines(parts: Parts, plausible: Sequence[Parts]) -> list[int]:
    wrong = [n for n in parts.lines if not any(each.lines.get(n) for each in (parts, *plausible))]
    return [n for n in wrong if parts.check == "average" or "%" not in parts.total.values[n].text]


def _explanation(plausible: Sequence[Parts], times: int = 2) -> Parts | None:
    for candidates, least in ((plausible, 2), ([p for parts in plausible for p in parts.without_one()], 3)):
        best = max(candidates, key=lambda p: (2 * p.right - len(p.lines), p.right), default=None)
        if best and best.right >= max(least, times * (len(best.lines) - best.right)):
            return best
    return None


def _plausible(grid: Grid, total: Series) -> list[Parts]:
    place = grid.series.index(total)
    around = (grid.series[:place][::-1], grid.series[place + 1 :], grid.series)
    parts = [list(filterfalse(attrgetter("total"), part)) for part in around]
    sets = [*parts, *(list(takewhile(lambda series: not series.total, part)) for part in around)]
    sets += [list(filter(attrgetter("is_score"), part)) for part in parts]
    sets += [[s for s in parts[2] if head in s.heads] for head in total.heads]
    unique = dict.fromkeys(tuple(sorted(part, key=grid.series.index)) for part in sets)
    return [Parts(total.total, total, part) for part in unique if len(part) > 1]


def _finding(grid: Grid, parts: Parts, line: int, *, is_thin: bool) -> Finding:
    value, word = parts.total.values[line], "mean" if parts.check == "average" else "sum"
    names = f"{parts.series[0].name or 'the first'} to {parts.series[-1].name or 'the last'}"
    says = f"{grid.where(parts.total, value)} is not the {word} of its {len(parts.series)} cells"
    others = "one other line is right" if parts.right == 1 else f"{parts.right} other lines are right"
    why = f"The {word} of {names} is {parts.exact(line):.{value.decimals + 1}f}, and {others}"
    fitting = next((less for less in parts.without_one() if less.lines.get(line)), None)
    if fitting:
        [left_out] = set(parts.series) - set(fitting.series)
        why += f". It fits without {left_out.name}"
    severity = "note" if is_thin else "doubt" if fitting else "error"
    return Finding(severity, parts.check, value.place, says, why)


LEAST = 4  # fitting differences required
THIN = 3  # differences, one wrong
MOST_IN_GROUP = 30
MOST_SERIES = 50
Bases = dict[tuple[Series, int], Value]  # (series, line) -> the base of a difference
FIRST_OF = {"group": "its group", "block": "its block between rules"}


def behind_values(grid: Grid, seen: Seen) -> Findings:
    """Find wrong differences printed after numbers, e.g. "41.2 (+1.3)". Adds compared cells to ``seen``."""
    printed = [(s, v) for s in grid.series for v in s if v.delta is not None]
    bases = _bases(grid) if len(printed) >= THIN else ()
    found = [(name, _fitting_to(base, printed, sign)) for name, base in bases for sign in (1, -1)]
    name, best = max(found, key=lambda pair: sum(pair[1].values()), default=("", {}))
    right = sum(best.values())
    severity = _severity(right, len(best) - right)
    if not severity:
        return
    seen[DIFFERENCES].update(id(value.cell) for _, value, _ in best)
    for series, value, base in filterfalse(best.get, best):
        says = f"{grid.where(series, value)} does not differ by this from {base.text}"
        exact = value.number - base.number
        why = f"The difference from {name} is {exact:+f}. {right} of {len(best)} are from it"
        yield Finding(severity, "delta", value.place, says, why)


def _severity(right: int, wrong: int) -> str:
    if right >= max(LEAST, 3 * wrong):
        return "error"
    return "note" if wrong == 1 and right + wrong >= THIN else ""


def _fitting_to(
    bases: Bases, printed: list[tuple[Series, Value]], sign: int
) -> dict[tuple[Series, Value, Value], bool]:
    fits = {}
    for series, value in printed:
        if base := bases.get((series, value.line)):
            fields = value, base, (sign * (value.delta or Decimal()),), value.delta_decimals
            is_share = value.relative and _agrees(*fields, is_share=True)
            fits[series, value, base] = is_share or _agrees(*fields)
    return {pair: is_right for pair, is_right in fits.items() if pair[1] is not pair[2]}


def _bases(grid: Grid) -> Iterator[tuple[str, Bases]]:
    lines = list(grid.lines)
    for number, line in grid.lines.items():
        yield line.label, _from_lines(grid, dict.fromkeys(lines, number))
    for attribute, words in FIRST_OF.items():
        first: dict[Hashable, int] = {}
        bases = {n: first.setdefault(getattr(line, attribute), n) for n, line in grid.lines.items()}
        yield f"the first of {words}", _from_lines(grid, bases)
    yield "the line above", _from_lines(grid, dict(zip(lines[1:], lines, strict=False)))
    for other in grid.series:
        yield other.name, {(s, line): value for s in grid.series for line, value in other.values.items()}


def _from_lines(grid: Grid, bases: dict[int, int]) -> Bases:
    return {(s, n): s.values[base] for s in grid.series for n, base in bases.items() if base in s.values}


@dataclass(frozen=True)
class Explained:
    """A series that may be ``one`` minus ``other``, in per cent of ``other`` if ``is_share``."""

    series: Series
    one: Series
    other: Series
    is_share: bool = False

    @cached_property
    def fits(self) -> dict[int, bool]:
        one, other, series = self.one.values, self.other.values, self.series
        shared = [v for v in series if v.line in one.keys() & other.keys()]
        checked = [v for v in shared if one[v.line].decimals or not v.decimals]  # others fit by chance
        signs = (1,) if any(re.match(r"[-+−–]", value.text) for value in series) else (1, -1)
        fits = {}
        for v in checked:
            deltas, numbers = [sign * v.number for sign in signs], (one[v.line], other[v.line])
            fits[v.line] = _agrees(*numbers, deltas, v.decimals, is_share=self.is_share)
        return fits

    @property
    def right(self) -> int:
        return sum(self.fits.values())

    @property
    def wrong(self) -> list[int]:
        return list(filterfalse(self.fits.get, self.fits))

    def findings(self, grid: Grid, seen: Seen, severity: str, right: int) -> Findings:
        seen[DIFFERENCES].update(id(self.series.values[line].cell) for line in self.fits if severity)
        for line in self.wrong if severity else ():
            value, one, other = (each.values[line] for each in (self.series, self.one, self.other))
            exact = one.number - other.number
            exact = 100 * exact / other.number if self.is_share and other.number else exact
            says = f"{grid.where(self.series, value)} is not the difference of {one.text} and {other.text}"
            difference = f"{exact:+.3f}{' %' * self.is_share}"
            why = f"{self.one.name} minus {self.other.name} is {difference}, and {right} others fit"
            yield Finding(severity, "delta", value.place, says, why)


def in_series(grid: Grid, seen: Seen) -> Findings:
    """Find wrong numbers in a series of differences between two others. Adds compared cells to ``seen``."""
    others = list(filterfalse(attrgetter("is_difference"), grid.series))
    if 1 < len(others) <= MOST_SERIES:
        for series in filter(attrgetter("is_difference"), grid.series):
            pairs = chain(_with_pairs(series, others), _with_best_other(grid, series))
            best = max(pairs, key=attrgetter("right"))
            severity = _severity(best.right, len(best.wrong))
            places = [place for place, each in enumerate(grid.series) if each in (best.one, best.other)]
            is_near = len(places) == 2 and places[1] - places[0] <= 2
            if severity == "error" or (is_near and not best.is_share):
                yield from best.findings(grid, seen, severity, best.right)


def _with_pairs(series: Series, others: Sequence[Series]) -> Iterator[Explained]:
    pairs = product(others, others, (False, True))
    yield from (Explained(series, *pair) for pair in pairs if pair[0] is not pair[1])


def _with_best_other(grid: Grid, series: Series) -> Iterator[Explained]:
    before = grid.series[: grid.series.index(series)]
    near = list(takewhile(lambda each: not each.is_difference, reversed(before)))
    for one in near:
        others = [value for each in near if each is not one for value in each]
        best = {v.line: v for v in sorted(others, key=attrgetter("number"))}
        for is_share in (False, True):
            yield Explained(series, one, Series(("the best other",), best), is_share)


def from_line(grid: Grid, seen: Seen) -> Findings:
    """Find wrong differences from one line of a neighbouring series. Adds compared cells to ``seen``."""
    scores = list(filterfalse(attrgetter("is_difference"), grid.series))
    for series in filter(attrgetter("is_difference"), grid.series):
        place = grid.series.index(series)
        others = list(filterfalse(attrgetter("is_difference"), grid.series[max(0, place - 2) : place]))
        candidates = list(chain.from_iterable(_with_lines(grid, series, other) for other in others))
        if len(series.values) == 2:
            yield from _of_two(grid, seen, series, candidates)
        elif candidates and len(series.values) >= THIN:
            best = max(candidates, key=attrgetter("right"))
            severity = _severity(best.right, len(best.wrong))
            if severity == "error" or not best.is_share:
                yield from best.findings(grid, seen, severity, best.right)
            if not severity and max(map(attrgetter("right"), _with_pairs(series, scores)), default=0) < 2:
                yield from chain.from_iterable(_of_base(grid, series, other) for other in others)


def _of_two(grid: Grid, seen: Seen, series: Series, candidates: Sequence[Explained]) -> Findings:
    is_signed = all(re.match(r"[-+−–]", value.text) for value in series)
    for each in candidates if is_signed else ():
        is_of_blank = {v.line for v in each.other} == each.one.values.keys() - series.values.keys()
        is_one_wrong = is_of_blank and not each.is_share and each.right == len(each.wrong) == 1
        if is_one_wrong and not any(other.fits.get(each.wrong[0]) for other in candidates):
            yield from each.findings(grid, seen, "note", 1)


def _of_base(grid: Grid, series: Series, other: Series) -> Findings:
    differences = {v.line: v for v in series if v.number}
    bases = [v for v in other if v.line not in differences]
    pairs = [(other.values[line], d) for line, d in differences.items() if line in other.values]
    if len(bases) != 1 or len(pairs) < THIN or any(_is_from(bases[0], *pair) for pair in pairs):
        return
    implied = [value.number - difference.number for value, difference in pairs]
    is_same = max(implied) - min(implied) <= 2 * (pairs[0][0].half + pairs[0][1].half)
    says = f"{grid.where(other, bases[0])} fits none of the {len(pairs)} differences"
    why = f"{series.name} has differences from {implied[0] if is_same else 'several numbers'}"
    yield Finding("doubt" if is_same else "note", "delta", bases[0].place, says, why)


def _is_from(base: Value, value: Value, difference: Value) -> bool:
    fields = value, base, (difference.number, -difference.number), difference.decimals
    return _agrees(*fields) or _agrees(*fields, is_share=True)


def _with_lines(grid: Grid, series: Series, other: Series) -> Iterator[Explained]:
    for base in other:
        line = Series((grid.label(base),), {n: base for n in other.values if n != base.line})
        for pair in ((other, line), (line, other)):
            yield from (Explained(series, *pair, is_share) for is_share in (False, True))


def in_groups(grid: Grid, seen: Seen) -> Findings:
    """Find wrong differences in groups of short columns. Adds compared cells to ``seen``."""
    pooled = defaultdict[tuple[str, ...], dict[Hashable, list[Explained]]](dict)
    for pair in _within_groups(grid):
        key = (pair.one.heads[-1:], pair.other.heads[-1:], pair.is_share)
        pooled[pair.series.heads[-1:]].setdefault(key, []).append(pair)
    for pairs in pooled.values():
        right, best = max(((sum(p.right for p in each), each) for each in pairs.values()), key=itemgetter(0))
        if right >= max(LEAST, 3 * sum(len(pair.wrong) for pair in best)):
            yield from chain.from_iterable(pair.findings(grid, seen, "error", right) for pair in best)


def _within_groups(grid: Grid) -> Iterator[Explained]:
    for series in (each for each in grid.series if each.is_difference and 0 < len(each.values) < LEAST):
        heads = series.heads[:-1]
        others = [each for each in grid.series if each.heads[:-1] == heads and not each.is_difference]
        yield from _with_pairs(series, others) if len(others) <= MOST_IN_GROUP else ()


def _agrees(
    one: Value, base: Value, deltas: Iterable[Decimal], decimals: int, *, is_share: bool = False
) -> bool:
    low = one.number - one.half - base.number - base.half
    high = one.number + one.half - base.number + base.half
    if is_share:
        if base.number <= base.half:
            return False
        low = 100 * ((one.number - one.half) / (base.number + base.half) - 1)
        high = 100 * ((one.number + one.half) / (base.number - base.half) - 1)
    half = half_unit(decimals)
    return any(low - half <= delta <= high + half for delta in deltas)
