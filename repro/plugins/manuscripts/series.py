"""The numbers of a table as series, e.g. column "MRR@10" as one with measure ``RR@10``."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from repro.manifest.printed import DASHES, decimals_of, half_unit
from repro.plugins.manuscripts import headings, notation, vocabulary
from repro.plugins.manuscripts.layout import Layout, layout, transposed
from repro.plugins.manuscripts.source_tables import Place, SourceCell, SourceTable

AVERAGE = re.compile(r"(?i)\b(avg|average|mittelwert|durchschnitt)\b|^mean$")
SUM = re.compile(r"(?i)^(total|sum|all)$")
DIFFERENCE = re.compile(r"(?i)Δ|∆|\bdelta\b|\bgains?\b|improv|\bimpr\b|\bdiff(erence)?\b")
STATISTIC = re.compile(
    r"(?i)^(#|count|number of|median|std|min|max|total|rank|corpus|documents|\w* ?queries)\b(?!\s*=?\s*\d)"
    r"|^avg\.? words"
)
SMALLER = re.compile(
    r"(?i)latency|\btime|time\b|(?<=[\s(])m?s\b|sec|\b[gmk]b\b|memory|size|param|flops|cost|loss|perplex|\berrors?\b|\bWER\b|\bP9[059]\b"
)
SPREADS = re.compile(r"\b(?i:SD|std\.?(?: dev\.?)?|standard deviation)$")
P_VALUE = re.compile(r"p|(?i:p[- ]?values?)")
_P_VALUES = re.compile(r"(?i)\bp-?\s?values?\b")
_LETTERS = re.compile(r"(?<=\d)\s(?![hd]$)[a-l](?:,?\s?[a-l])*$")  # of other rows


@dataclass(frozen=True, eq=False)
class Value:
    """A number of a cell, its line across the series, and the difference (``delta``) printed behind it."""

    cell: SourceCell
    number: Decimal
    decimals: int
    line: int
    delta: Decimal | None = None
    delta_decimals: int = 0
    relative: bool = False

    @property
    def half(self) -> Decimal:
        return half_unit(self.decimals)

    @property
    def place(self) -> Place:
        return self.cell.place

    @property
    def text(self) -> str:
        return self.cell.text


@dataclass(frozen=True, eq=False)
class Series:
    """A column's numbers by line, below ``heads``, the outermost first. It ``is_score`` if it has a measure
    or collection, and ``has_unread`` if a cell with digits has no value."""

    heads: tuple[str, ...]
    values: Mapping[int, Value]
    measure: str | None = None
    dataset: str | None = None
    is_score: bool = False
    is_certain: bool = False
    has_unread: bool = False

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values.values())

    def on(self, lines: Iterable[int]) -> list[Value]:
        return [self.values[line] for line in lines if line in self.values]

    def lead(self, one: Value, other: Value) -> Decimal:
        return (one.number - other.number) * self.sign

    @property
    def name(self) -> str:
        return " ".join(self.heads)

    @property
    def total(self) -> str:
        if any(map(AVERAGE.search, self.heads)):
            return "average"
        return "sum" if any(map(SUM.search, self.heads[-1:])) else ""

    @property
    def is_difference(self) -> bool:
        return DIFFERENCE.search(self.name) is not None

    @property
    def is_of_p_values(self) -> bool:
        return P_VALUE.fullmatch("".join(self.heads[-1:])) is not None

    @property
    def sign(self) -> int:
        """1 if larger is better, -1 if smaller, 0 if unknown."""
        if "↓" in self.name or "↑" in self.name:
            return -1 if "↓" in self.name else 1
        return 1 if self.is_score or self.measure else -1 if SMALLER.search(self.name) else 0


@dataclass(frozen=True)
class Line:
    """A line across the series, usually of a system. ``block`` is the number of rules above it."""

    label: str
    group: str = ""
    block: int = 0

    @property
    def is_of_system(self) -> bool:
        is_named = DIFFERENCE.search(self.label) or STATISTIC.search(self.label)
        words = vocabulary.words(self.label)
        return not (is_named or (self.label and words <= set(vocabulary.facts()["costs"])))


@dataclass(frozen=True, eq=False)
class Grid:
    """The series and lines of a table, e.g. a series per column and a line per row."""

    table: SourceTable
    series: tuple[Series, ...]
    lines: Mapping[int, Line]

    @cached_property
    def scores(self) -> tuple[Series, ...]:
        return tuple(each for each in self.series if each.is_score and each.values)

    @property
    def numbers(self) -> list[tuple[Series, Value]]:
        return [(series, value) for series in self.scores for value in series]

    @property
    def remarks(self) -> str:
        return " ".join((self.table.caption, *self.table.legend))

    def numbers_on(self, line: int) -> int:
        return sum(line in series.values for series in self.scores)

    def where(self, series: Series, value: Value) -> str:
        return f"{self.label(value)}, {series.name}: {value.text}"

    def label(self, value: Value) -> str:
        return self.lines[value.line].label

    def grouped_with(self, lines: Iterable[int]) -> list[int]:
        groups = {self.lines[line].group for line in lines}
        return [line for line, each in self.lines.items() if each.group in groups]

    def without(self, cells: Sequence[SourceCell]) -> "Grid":
        left_out = set(map(id, cells))
        kept = [(s, {v.line: v for v in s if id(v.cell) not in left_out}) for s in self.series]
        return replace(self, series=tuple(replace(series, values=values) for series, values in kept))


def value_of(cell: SourceCell, line: int) -> Value | None:
    """Return the number of a cell, or None for words, dashes, bounds and cells with several numbers."""
    text = re.sub(r"^\(([\d.]+\s?%?)\)$", r"\1", cell.text.strip())  # e.g. "(12%)"
    text = notation.SPREAD.sub("", _LETTERS.sub("", text).replace("\u2009", "").replace("\u2212", "-"))
    number, match = notation.scaled(text.rstrip()), None
    if number is None and (match := notation.DELTA.search(text)):
        number = notation.scaled(text[: match.start()].rstrip())
    if number is None:
        return None
    value = Value(cell, number, -int(number.as_tuple().exponent), line)
    if match is None:
        return value
    delta, is_share = Decimal(match["digits"]), match["share"] is not None
    change = -delta if match["sign"] in notation.DOWN else delta
    return replace(value, delta=change, delta_decimals=decimals_of(delta), relative=is_share)


def parts(cells: Mapping[int, SourceCell], heads: tuple[str, ...]) -> dict[tuple[str, ...], dict[int, Value]]:
    """Return heads -> row -> number of a column. Pairs, e.g. "45.3 / 60.0", give an entry for each part."""
    found, last = _read(cells), " ".join(heads[-1:])
    texts = {row: cell.text.split("/") for row, cell in cells.items() if cell.text.strip() not in DASHES}
    size = Counter(map(len, texts.values())).most_common(1)[0][0] if texts else 1
    names, pairs = last.split("/"), {row: text for row, text in texts.items() if len(text) == size}
    if found or size == 1 or (size != len(names) and pairs != texts):
        return {heads: found}
    names = names if len(names) == size else [f"{last} ({n})" for n in range(1, size + 1)]
    split = {}
    for n, name in enumerate(names):
        own = {row: (cells[row].parts or [cells[row]] * size)[n] for row in pairs}
        column = {row: replace(own[row], text=text[n].strip()) for row, text in pairs.items()}
        split[*heads[:-1], name.strip()] = _read(column)
    return split if all(len(values) == len(pairs) for values in split.values()) else {heads: found}


def _read(cells: Mapping[int, SourceCell]) -> dict[int, Value]:
    return {row: value for row, cell in cells.items() if (value := value_of(cell, row))}


def grids(table: SourceTable, *, is_turned: bool = False) -> tuple[Grid, Grid]:
    """Return a grid with systems as lines and one with them as series. ``is_turned``: columns are systems."""
    means = headings.meaning(table, is_turned=is_turned)
    across = layout(table if means.is_transposed else transposed(table))
    return _grid(means.layout, dict(enumerate(means.columns))), _grid(across, {})


def _grid(plan: Layout, meanings: Mapping[int, headings.ColumnMeaning]) -> Grid:
    rules = plan.table.rules
    lines = {
        row: Line(plan.label(row), group, sum(rule <= row for rule in rules))
        for row, group in zip(plan.rows, plan.groups, strict=True)
    }
    series = []
    for number, column in enumerate(plan.values):
        means, cells = meanings.get(number), {row: plan.table.body[row][column] for row in plan.rows}
        for heads, numbers in parts(cells, plan.head(column)).items():
            unread = " ".join(cell.text for row, cell in cells.items() if row not in numbers)
            values = list(numbers.values()) if means is None else _comparable([*numbers.values()], lines)
            one = _series(heads, {v.line: v for v in values}, means, plan.table.caption)
            series.append(replace(one, has_unread=any(map(str.isdigit, unread))))
    for number, (mean, deviation) in enumerate(pairwise(series)):
        if mean.total and len(mean.heads) > 1 and mean.heads[:-1] == deviation.heads[:-1]:
            is_of_runs = SPREADS.search(deviation.heads[-1])  # a mean over runs is no total
            series[number] = replace(mean, heads=mean.heads[:-1]) if is_of_runs else mean
    return Grid(plan.table, tuple(series), lines)


def _are_shares(values: Collection[Value]) -> bool:
    odd = [v for v in values if v.decimals <= 0 or not 0 <= v.number <= 100]
    return 4 * len(odd) <= len(values)


def _series(
    heads: tuple[str, ...], values: Mapping[int, Value], means: headings.ColumnMeaning | None, caption: str
) -> Series:
    if means is None or SPREADS.search("".join(heads[-1:])):
        return Series(heads, values)
    measure, name = means.measure.value or next(iter(means.measure.choices), None), " ".join(heads)
    is_named = vocabulary.names_something(name) or AVERAGE.search(name) is not None
    is_certain = means.dataset.sure == means.measure.sure == "certain"
    is_other = any(pattern.search(name) for pattern in (SMALLER, STATISTIC, DIFFERENCE))
    is_effect = measure is not None or (notation.EFFECT.search(f"{name} {caption}") and not is_other)
    is_score = bool(is_named or (is_effect and _are_shares(values.values())))
    series = Series(heads, values, measure, means.dataset.value, is_score, is_certain)
    return replace(series, is_score=False) if means.is_cost or _are_p_values(series, caption) else series


def _are_p_values(series: Series, caption: str) -> bool:
    is_small = all(value.number <= 1 for value in series)
    return series.is_of_p_values or (is_small and _P_VALUES.search(caption) is not None)


def _comparable(values: list[Value], lines: Mapping[int, Line]) -> list[Value]:
    of_systems = [v for v in values if lines[v.line].is_of_system]
    others = [v for v in of_systems if "%" not in v.cell.text.partition("(")[0]]
    return others if 2 * len(others) > len(of_systems) else of_systems
