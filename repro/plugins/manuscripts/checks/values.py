"""Single numbers against what their measure and collection allow."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations
from math import ceil, floor, lcm

from repro.errors import UsageError
from repro.manifest.measures_per_dataset import listed_measures
from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.plugins.manuscripts.vocabulary import without_measures
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.evaluation.measures import Measure, parse_measure

MONOTONE = ("R", "Success", "RR")  # more ranks never lower them; nDCG and P may fall
CAPPED = re.compile(r"(?i)capp?ed|\bcap\b")  # recall over at most as many as ranks: it may fall
SEVERAL_RUNS = re.compile(r"(?i)\b(seeds?|runs|trials|averaged? (over|of)|standard deviation|std)\b|±")


def out_of_range(grid: Grid) -> Iterator[Finding]:
    """Find scores above 100 or below 0, in columns where nearly all lie between."""
    for series in grid.scores:
        wrong = [v for v in series.values.values() if not 0 <= v.number <= 100]
        if _is_share(series) and 4 * len(wrong) <= len(series.values):
            for value in wrong:
                says = f"{grid.where(series, value)} is no value of {series.measure}"
                why = "it lies between 0 and 1, or 0 and 100 in per cent"
                yield Finding("error", "range", value.place, says, why)


def _is_share(series: Series) -> bool:
    signed = any(v.cell.text.startswith("+") for v in series.values.values())
    return series.measure is not None and not series.is_difference and not signed


def mixed_units(grid: Grid) -> Iterator[tuple[Value, Finding]]:
    """Find a percentage in a column of fractions, or a fraction in one of percentages, by their sizes.

    Three others have to agree, and a fraction needs more digits than they; a line that is so throughout is
    of something else. No other check sees the number.
    """
    odd: list[tuple[Series, Value, Finding]] = []
    for series in grid.scores:
        numbers = series.values.values() if _is_share(series) else ()
        above = [v for v in numbers if Decimal("1.5") < v.number]
        below = [v for v in numbers if 0 < v.number <= 1]
        odd += _odd(grid, series, above, below, "percentage", "fraction")
        if above and max(v.number for v in above) <= 100:
            most = max(v.decimals for v in above)
            odd += _odd(
                grid, series, [v for v in below if v.decimals > most], above, "fraction", "percentage"
            )
    for _, value, finding in odd:
        if 2 * sum(other.line == value.line for _, other, _ in odd) <= max(2, grid.numbers_on(value.line)):
            yield value, finding


def _odd(grid: Grid, series: Series, few: list[Value], many: list[Value], unit: str, usual: str):
    if len(many) >= max(3, 3 * len(few)):
        for value in few:
            says = f"{grid.where(series, value)} is a {unit} among {usual}s"
            why = f"{len(many)} others of its column are {usual}s, such as {many[0].cell.text}"
            yield series, value, Finding("doubt", "unit", value.place, says, why)


def falling(grid: Grid) -> Iterator[Finding]:
    """Find R@100 above R@1000 of one row on one collection; likewise of success and of reciprocal ranks."""
    kinds: dict[tuple, list[tuple[Measure, Series]]] = {}
    for series in grid.scores:
        measure = _measure(series)
        if measure and measure.name in MONOTONE and not CAPPED.search(series.name):
            named = series.dataset, without_measures(series.name), measure.name, measure.rel
            kinds.setdefault(named, []).append((measure, series))
    for group in kinds.values():
        for (one, shallow), (other, deep) in combinations(sorted(group, key=lambda each: each[0].cutoff), 2):
            if one.cutoff == other.cutoff:
                continue
            pairs = [(v, deep.values[n]) for n, v in shallow.values.items() if n in deep.values]
            wrong = [(few, many) for few, many in pairs if few.number - few.half > many.number + many.half]
            if 2 * len(wrong) > len(pairs) > 1:  # the heads mean something else
                continue
            for few, many in wrong:
                says = f"{grid.where(shallow, few)} is above {many.cell.text} of {deep.name}"
                why = f"no ranking has less of {one.name} in {other.cutoff} ranks than in {one.cutoff}"
                yield Finding("error", "cut-off", few.place, says, why)


def impossible_means(grid: Grid) -> Iterator[Finding]:
    """Find means that the queries of a collection cannot have, as each has one of few values.

    A mean of success is j/n for n queries, of RR@k a multiple of 1/(n lcm(1..k)). That tells something only
    where the printed digits are finer. Means over several runs, and columns of which a third has no such
    value (so that other queries were taken), are left alone; nDCG and recall have values of too many kinds.
    """
    if SEVERAL_RUNS.search(grid.table.caption):
        return
    for series in grid.scores:
        queries = _queries(series)
        steps = _steps(series)
        if not queries or not steps or any("±" in v.cell.text for v in series.values.values()):
            continue
        told = [v for v in series.values.values() if _step_of(series) * 2 * v.half * queries * steps < 1]
        wrong = [v for v in told if not _is_possible(v, _step_of(series), queries * steps)]
        if len(told) > 2 and 3 * len(wrong) <= len(told):
            for value in wrong:
                why = (
                    f"a mean of {series.measure} over {queries} queries is a multiple of 1/{queries * steps}"
                )
                says = f"{grid.where(series, value)} is between two such means"
                yield Finding("doubt", "queries", value.place, says, f"{why}, as others here are")


def _queries(series: Series) -> int:
    entry = catalog().get(series.dataset or "")
    return entry.counts.get("queries", 0) if entry else 0


def _steps(series: Series) -> int:
    """Return of which 1/steps the value of one query is a multiple; 0 where there is no such number."""
    measure = _measure(series)
    if measure is None:
        return 0
    return {"Success": 1, "RR": lcm(*range(1, measure.cutoff + 1))}.get(measure.name, 0)


def _step_of(series: Series) -> Decimal:
    """Return what the printed unit is as a fraction: 1, or 1/100 of percentages."""
    numbers = [value.number for value in series.values.values()]
    return Decimal("0.01") if max(numbers, default=Decimal()) > 1 else Decimal(1)


def _is_possible(value: Value, unit: Decimal, multiples: int) -> bool:
    low = (value.number - value.half) * unit * multiples
    high = (value.number + value.half) * unit * multiples
    return ceil(low) <= floor(high)


def undefined_depths(grid: Grid) -> Iterator[Finding]:
    """Find reciprocal ranks and nDCG at another depth than the one that a collection is scored at."""
    for series in grid.scores:
        measure = _measure(series)
        if measure is None or measure.name not in ("RR", "nDCG") or not series.values:
            continue
        depths = {
            m.cutoff
            for m in map(parse_measure, listed_measures(series.dataset or ""))
            if m.name == measure.name
        }
        if len(depths) == 1 and measure.cutoff not in depths:
            first = next(iter(series.values.values()))
            says = f"{series.name}: {series.dataset} is scored by {measure.name}@{depths.pop()}"
            why = "numbers of others at its own depth cannot be set beside these"
            yield Finding("note", "depth", first.place, says, why)


def _measure(series: Series) -> Measure | None:
    try:
        return parse_measure(series.measure) if series.measure else None
    except UsageError:
        return None
