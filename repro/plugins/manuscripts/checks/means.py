"""Averages and sums against the cells that they are of, which are found by what fits most lines."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import AVERAGE, Grid, Series, Value

Parts = tuple[Series, ...]


@dataclass(frozen=True)
class Fit:
    """Parts that explain a total: the lines where they do, and those where they do not."""

    parts: Parts
    right: tuple[int, ...]
    wrong: tuple[int, ...]


def totals(grid: Grid) -> Iterator[Finding]:
    """Find averages and sums outside of every value that their printed cells leave possible.

    Which cells a total covers is found by search: those beside it, before it, under the same heading; each
    also without one of them. What most lines agree with counts; without such agreement nothing is said.
    """
    for series in grid.series:
        if series.is_average:
            yield from _of_total(grid, series, "average")
        elif series.is_sum:
            yield from _of_total(grid, series, "sum")


def _of_total(grid: Grid, total: Series, check: str) -> Iterator[Finding]:
    others = [s for s in grid.series if not s.is_average and not s.is_sum]
    sets = _plausible(grid, total, others)
    fits = [_fit(total, parts, check) for parts in sets]
    best = max(fits, key=lambda fit: (len(fit.right) - len(fit.wrong), len(fit.right)), default=None)
    if best is None or not _is_convincing(best):
        without = [_fit(total, part, check) for parts in sets for part in _without_one(parts)]
        best = max(without, key=lambda fit: len(fit.right) - len(fit.wrong), default=None)
        if best is None or not _is_convincing(best, least=3):
            return
    for line in best.wrong:
        if not any(line in fit.right for fit in fits):
            yield _finding(grid, total, best, line, check)


def _is_convincing(fit: Fit, least: int = 2) -> bool:
    """Return whether parts explain so many lines that the others are at fault, and not their choice."""
    return len(fit.right) >= max(least, 2 * len(fit.wrong))


def _plausible(grid: Grid, total: Series, others: list[Series]) -> list[Parts]:
    """Return the sets of series that a total may be of, each once, of two at least."""
    place = grid.series.index(total)
    before = [series for series in others if grid.series.index(series) < place]
    behind = [series for series in others if grid.series.index(series) > place]
    sets = [
        before,
        behind,
        others,
        _run(grid, reversed(range(place)), others),
        _run(grid, range(place + 1, len(grid.series)), others),
    ]
    for head in total.heads:
        if not AVERAGE.search(head):
            sets.append([series for series in others if head in series.heads])
    sets += [[s for s in parts if s.is_score] for parts in sets[:3]]
    unique = dict.fromkeys(tuple(sorted(parts, key=grid.series.index)) for parts in map(list, sets))
    return [parts for parts in unique if len(parts) > 1]


def _run(grid: Grid, places: Iterable[int], others: list[Series]) -> list[Series]:
    """Return the series next to a total, up to the next total."""
    run = []
    for place in places:
        if grid.series[place] not in others:
            break
        run.append(grid.series[place])
    return run


def _without_one(parts: Parts) -> Iterator[Parts]:
    if len(parts) > 2:
        yield from (tuple(p for p in parts if p is not left_out) for left_out in parts)


def _fit(total: Series, parts: Parts, check: str) -> Fit:
    right: list[int] = []
    wrong: list[int] = []
    for line, value in total.values.items():
        if all(line in part.values for part in parts):
            (right if _agrees(value, [p.values[line] for p in parts], check) else wrong).append(line)
    return Fit(parts, tuple(right), tuple(wrong))


def _exact(cells: list[Value], check: str) -> Decimal:
    number = sum((cell.number for cell in cells), Decimal())
    return number / len(cells) if check == "average" else number


def _agrees(total: Value, cells: list[Value], check: str) -> bool:
    """Return whether numbers that round to the printed ones can have the printed total."""
    slack = sum((cell.half for cell in cells), Decimal()) / (len(cells) if check == "average" else 1)
    if check == "sum" and all(cell.decimals == 0 for cell in cells):
        slack = Decimal()  # counts are exact
        return total.number == _exact(cells, check)
    return abs(total.number - _exact(cells, check)) <= slack + total.half


def _finding(grid: Grid, total: Series, fit: Fit, line: int, check: str) -> Finding:
    value, cells = total.values[line], [part.values[line] for part in fit.parts]
    nearer = [
        left_out
        for left_out, kept in zip(fit.parts, _without_one(fit.parts), strict=False)
        if _agrees(value, [part.values[line] for part in kept], check)
    ]
    word = "mean" if check == "average" else "sum"
    names = f"{fit.parts[0].name or 'the first'} to {fit.parts[-1].name or 'the last'}"
    exact = f"{_exact(cells, check):.{value.decimals + 1}f}"
    says = f"{grid.where(total, value)} is not the {word} of its {len(cells)} cells"
    why = f"the {word} of {names} is {exact}, and {len(fit.right)} other lines have theirs"
    if nearer:
        why += f"; without {nearer[0].name} it would fit"
    return Finding("doubt" if nearer else "error", check, value.place, says, why)
