"""Checks numbers against their measure, collection and column, e.g. R@1000 below R@100."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, combinations, product
from math import ceil, floor, lcm
from operator import itemgetter

from repro.manifest.printed import DASHES
from repro.plugins.manuscripts import headings, notation, vocabulary
from repro.plugins.manuscripts.checks import Finding, Findings, numeral
from repro.plugins.manuscripts.series import Grid, Series, Value, parts, value_of
from repro.plugins.manuscripts.source_tables import Manuscript, SourceCell, SourceTable
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.evaluation.measures import Measure, families, parse_measure
from repro.running.measurement import listed_measures

CAPPED = re.compile(r"(?i)capp?ed|\bcap\b")  # such recall may fall
SEVERAL_RUNS = re.compile(r"(?i)\b(seeds?|runs|trials|averaged? (over|of)|standard deviation|std)\b|±")


def impossible(grids: Iterable[Grid]) -> Iterator[tuple[Value, Finding]]:
    """Yield values out of range or in another unit, with findings. Other checks leave them out."""
    return chain.from_iterable(check(grid) for grid in grids for check in (mixed_units, out_of_range))


def out_of_range(grid: Grid) -> Iterator[tuple[Value, Finding]]:
    for series in filter(_is_share, grid.scores):
        wrong = [v for v in series if not 0 <= v.number <= 100]
        for value in wrong if 4 * len(wrong) <= len(series.values) else ():
            says = f"{grid.where(series, value)} is no possible value of {series.measure}"
            why = "Its values are between 0 and 1, or 0 and 100 %"
            yield value, Finding("error", "range", value.place, says, why)


def _is_share(series: Series) -> bool:
    is_signed = any(value.text.startswith("+") for value in series)
    return series.measure is not None and not series.is_difference and not is_signed


Odd = tuple[Series, list[Value], str]  # series, unusual values, description


def _of_odd_lines(grid: Grid, odd: Sequence[Odd]) -> Iterator[Odd]:
    often = Counter(value.line for _, values, _ in odd for value in values)
    for series, values, words in odd:
        kept = [v for v in values if 2 * often[v.line] <= max(2, grid.numbers_on(v.line))]
        if kept:
            yield series, kept, words


def mixed_units(grid: Grid) -> Iterator[tuple[Value, Finding]]:
    odd = [group for series in filter(_is_share, grid.scores) for group in _of_other_unit(series)]
    why = "The rest of its column has the other unit"
    for series, values, words in _of_odd_lines(grid, odd):
        is_thin = len(series.values) < max(4, 4 * len(values))
        for value in values:
            says = f"{grid.where(series, value)} is {words}"
            yield value, Finding("note" if is_thin else "doubt", "unit", value.place, says, why)


def _of_other_unit(series: Series) -> Iterator[Odd]:
    above, below = _within(series, Decimal("1.5"), 100), _within(series, Decimal(), 1)
    most = max((value.decimals for value in above), default=0)
    finer = [v for v in below if v.decimals > most]
    pairs = ((above, below, "a percentage among fractions"), (finer, above, "a fraction among percentages"))
    for few, many, words in pairs:
        if few and len(many) >= max(2, 2 * len(few)):
            yield series, few, words


def _within(series: Series, low: Decimal, high: int) -> list[Value]:
    return [v for v in series if low < v.number <= high]


def decimals(grid: Grid) -> Findings:
    odd = [group for series in grid.scores if (group := _of_other_digits(series))]
    if not odd:
        yield from _of_odd_table(grid)
    for series, values, words in _of_odd_lines(grid, odd) if len(odd) < 3 else ():
        says = " and ".join(grid.where(series, value) for value in values)
        yield Finding("note", "decimals", values[0].place, says, words)


def _of_odd_table(grid: Grid) -> Findings:
    numbers = [(s, v) for s in grid.scores if len(s.values) < 3 for v in _within(s, Decimal(), 100)]
    usual, often = _usual_decimals(value for _, value in numbers)
    odd = [(series, value) for series, value in numbers if value.decimals != usual]
    for series, value in odd if len(odd) == 1 and often >= 5 else ():
        words = f"{often} numbers of the table have {usual} decimals"
        yield Finding("note", "decimals", value.place, grid.where(series, value), words)


def _usual_decimals(values: Iterable[Value]) -> tuple[int, int]:
    return next(iter(Counter(value.decimals for value in values).most_common(1)), (0, 0))


def _of_other_digits(series: Series) -> Odd | None:
    numbers = _within(series, Decimal(), 100)
    usual, often = _usual_decimals(numbers)
    same = {_digits(v) for v in numbers if v.decimals == usual}  # e.g. 8.211, 10.01
    odd = [v for v in numbers if v.decimals != usual and {_digits(v)} != same]
    words = f"{often} numbers of the column have {usual} decimals"
    are_few = odd and often >= max(2, 2 * len(odd)) and len(numbers) == len(series.values)
    return (series, odd, words) if are_few else None


def _digits(value: Value) -> int:
    return len(value.number.as_tuple().digits)


DOWNSTREAM = re.compile(
    r"(?i)\b(?:QA|question[ -]answering)\s+accuracy|\bLLMs?\b|exact match|\bEM\b|\bF1\b|\breaders?\b"
)


def falling(grid: Grid) -> Findings:
    """Find scores that fall with the cutoff, e.g. R@100 above R@1000."""
    alike: dict[tuple, list[tuple[int, Series]]] = {}
    for measure, series in _measured(grid) if not DOWNSTREAM.search(grid.remarks) else ():
        if families()[measure.name].monotone and not CAPPED.search(series.name):
            words = frozenset(word for head in series.heads for word in vocabulary.without_measures(head))
            key = (series.dataset, words, measure.name, measure.rel)
            alike.setdefault(key, []).append((measure.cutoff, series))
    for (_, _, name, _), group in alike.items():
        for (first, few), (last, many) in combinations(sorted(group, key=itemgetter(0)), 2):
            if first < last:
                why = f"{name} cannot decrease from {first} to {last} ranks"
                yield from _of_cuts(grid, few, many, why)


def below_first(grid: Grid) -> Findings:
    for (first, one), (ranks, other) in product(_measured(grid), repeat=2):
        if first.name in ("P", "Success") and first.cutoff == 1 and ranks.name == "RR":
            is_alike = vocabulary.without_measures(one.name) == vocabulary.without_measures(other.name)
            if one.dataset == other.dataset and (is_alike or one.heads[:-1] == other.heads[:-1]):
                yield from _of_cuts(grid, one, other, f"{ranks} counts 1 for each query of {first}, or more")


def _of_cuts(grid: Grid, few: Series, many: Series, why: str) -> Findings:
    pairs = [(v, many.values[v.line]) for v in few if v.line in many.values]
    wrong = [(one, other) for one, other in pairs if one.number - one.half > other.number + other.half]
    for one, other in wrong if 2 * len(wrong) <= max(2, len(pairs)) else ():  # else the headings are misread
        says = f"{grid.where(few, one)} is above {other.text} of {many.name}"
        yield Finding("error", "cut-off", one.place, says, why)


def impossible_means(grid: Grid) -> Findings:
    """Find means that n queries cannot have: success is j/n, RR@k a multiple of 1/(n lcm(1..k))."""
    for series in grid.scores if not SEVERAL_RUNS.search(grid.remarks) else ():
        if multiples := _queries(grid, series) * _steps(series):
            wrong, precise = _impossible(series, multiples)
            for value in wrong if len(precise) > 2 and 3 * len(wrong) <= len(precise) else ():
                says = f"{grid.where(series, value)} is between two possible means"
                queries = f"{_queries(grid, series)} queries"
                why = f"Means over {queries} are multiples of 1/{multiples}, like the others"
                yield Finding("doubt", "queries", value.place, says, why)


def _impossible(series: Series, multiples: int) -> tuple[list[Value], list[Value]]:
    unit = Decimal("0.01") if max(v.number for v in series) > 1 else Decimal(1)
    precise, steps = [v for v in series if unit * 2 * v.half * multiples < 1], unit * multiples
    wrong = [v for v in precise if ceil((v.number - v.half) * steps) > floor((v.number + v.half) * steps)]
    return wrong, precise


_STATED = re.compile(
    r"(?i)(?:(?P<name>[\w-]+)\s*\()?\b(?P<n>\d[\d,]*)\s+(?:\w+\s+)?(?:queries|questions|topics)\b"
)


def _queries(grid: Grid, series: Series) -> int:
    found = list(_STATED.finditer(grid.remarks))
    own = [m for m in found if str(m["name"]) in series.name]  # "NQ (40 queries)"
    stated = {match["n"] for match in own or found}
    if stated:
        return (numeral(stated.pop()) or 0) if len(stated) == 1 else 0
    entry = catalog().get(series.dataset or "")
    return entry.counts.get("queries", 0) if entry else 0


def _steps(series: Series) -> int:
    if any("±" in value.text for value in series):
        return 0
    measure = _measure(series) or Measure("", 0)
    return {"Success": 1, "RR": lcm(*range(1, measure.cutoff + 1))}.get(measure.name, 0)


def undefined_depths(grid: Grid) -> Findings:
    """Find reciprocal ranks at another cutoff than the usual one of their collection."""
    for measure, series in _measured(grid):
        listed = map(parse_measure, listed_measures(series.dataset or "")) if series.is_certain else ()
        depths = [each.cutoff for each in listed if each.name == "RR"]
        if measure.name == "RR" and depths and measure.cutoff not in depths:
            says = f"{series.name}: the usual measure of {series.dataset} is RR@{depths[0]}"
            why = "Published numbers at that cutoff are not comparable"
            yield Finding("note", "depth", next(iter(series)).place, says, why)


def _measured(grid: Grid) -> list[tuple[Measure, Series]]:
    return [(measure, s) for s in grid.scores if (measure := _measure(s))]


def _measure(series: Series) -> Measure | None:
    return parse_measure(series.measure) if series.measure else None


def lost_parts(manuscript: Manuscript) -> Findings:
    for place, text in manuscript.lost:
        yield Finding("doubt", "unread", place, text, "Other findings do not cover this part")


def unread_cells(tables: Sequence[SourceTable]) -> Findings:
    for table in tables:
        for cells in filter(None, (unread for _, unread in columns_of(table))):
            shown = [repr(c.text) for c in cells]
            more = [f"{len(shown) - 2} others"] if len(shown) > 3 else shown[2:]
            verb = "is" if len(shown) == 1 else "are"
            says = f"{', '.join([*shown[:2], *more])} in a column of numbers {verb} not read"
            yield Finding("note", "unread", cells[0].place, says, "The checks leave this cell out")


_OPEN = re.compile(r"(?i)\?+|to-?do|tbd|x+\.?x+")


def columns_of(table: SourceTable) -> Iterator[tuple[list[SourceCell], list[SourceCell]]]:
    """Yield (read cells, unread cells) of each column. Only columns of numbers have unread cells."""
    plan = headings.meaning(table).layout
    for place in sorted({*range(plan.table.width)} - {*plan.labels}):
        cells = {row: plan.table.body[row][place] for row in plan.rows if place < len(plan.table.body[row])}
        is_split = len(parts(cells, plan.head(place))) > 1
        printed = {id(c): c for c in cells.values() if c.text.strip() not in DASHES}.values()
        read = [c for c in printed if _is_read(c, is_split)]
        others = [c for c in printed if not _is_read(c, is_split) and _is_number(c.text)]
        is_of_numbers = place in plan.values or 2 * len(read) >= len(printed)
        yield read, others if is_of_numbers else []


def _is_read(cell: SourceCell, is_split: bool) -> bool:
    is_known = value_of(cell, 0) is not None or notation.KNOWN.fullmatch(cell.text.strip()) is not None
    return is_known or (is_split and "/" in cell.text)


def _is_number(text: str) -> bool:
    is_prose = len(re.findall(r"[^\W\d_]{3,}", text)) > 2
    return (any(map(str.isdigit, text)) and not is_prose) or _OPEN.fullmatch(text.strip()) is not None
