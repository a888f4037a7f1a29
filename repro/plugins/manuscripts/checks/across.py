"""Checks of values that occur in several places: two tables, a sentence, or a known paper. For example,
"0.366 in Table 2" although Table 2 has .361."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations, combinations_with_replacement, filterfalse

from repro.hooks import notes
from repro.manifest import papers as at_hand
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.printed import are_apart, decimals_of, half_unit, percent, shift_point
from repro.plugins.manuscripts.checks import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.plugins.manuscripts.source_tables import Manuscript, Place
from repro.plugins.manuscripts.vocabulary import measures, named_collections, without_measures

_REMARK = re.compile(
    r"(?i)\s*(\[[^\]]*\]|\([^)]*\d{4}[a-z]?\)|\((ours?|this work|proposed)\)|et al\.?.*)\s*$"
)
Key = tuple[str, str]  # collection, measure (success is published as recall)


@dataclass(frozen=True)
class Stated:
    """A value in per cent, with half a unit of its last digit and its position."""

    number: Decimal
    half: Decimal
    where: str

    @classmethod
    def of(cls, number: Decimal, decimals: int, unit: str, where: str) -> Stated:
        """Return a number with the given unit and decimals."""
        return cls(percent(number, unit), percent(half_unit(decimals), unit), where)

    def differs_from(self, other: Stated) -> bool:
        """Return whether the two cannot be the same number before rounding."""
        return are_apart(self.number, self.half, other.number, other.half)

    def is_near(self, other: Stated) -> bool:
        """Return whether the two differ by less than a fiftieth of the larger one."""
        return 50 * abs(self.number - other.number) < max(self.number, other.number)


@dataclass(frozen=True)
class Printed:
    """A number of a table and its series."""

    series: Series
    value: Value

    @property
    def stated(self) -> Stated:
        """Return the number in per cent. A series without numbers above 1 contains fractions."""
        largest = max(value.number for value in self.series.values.values())
        unit, value = "percent" if largest > 1 else "fraction", self.value
        return Stated.of(value.number, value.decimals, unit, str(value.place))


def name_of(label: str) -> str:
    """Return a name without citation, case, spaces and hyphens."""
    return re.sub(r"[\s_\-–—]+", "", without_remarks(label)).lower()


def without_remarks(label: str) -> str:
    """Return a label without a trailing citation or "(ours)"."""
    return _REMARK.sub("", label).strip()


def several_values(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find systems with different values of one measure and collection in two tables. These are doubts if
    most of the system's values agree, and notes if the values are close."""
    for one, other in combinations(grids, 2):
        theirs = _unique_lines(other)
        for name, line in _unique_lines(one).items():
            if name in theirs:
                yield from _of_lines(one, line, other, theirs[name])


def _unique_lines(grid: Grid) -> dict[str, int]:
    names = [(name_of(line.label), number) for number, line in grid.lines.items()]
    often = Counter(name for name, _ in names)
    return {name: number for name, number in names if name and often[name] == 1}


def _of_lines(one: Grid, line: int, other: Grid, other_line: int) -> Iterator[Finding]:
    here, there = _keyed(one, line), _keyed(other, other_line)
    pairs = [(here[key], there[key]) for key in here if key in there]
    unequal = [(a, b) for a, b in pairs if a.stated.differs_from(b.stated)]
    same = len(pairs) - len(unequal)
    is_doubt = same >= max(2, 2 * len(unequal))
    label, severity = one.lines[line].label, "doubt" if is_doubt else "note"
    for mine, theirs in unequal if is_doubt or all(a.stated.is_near(b.stated) for a, b in unequal) else ():
        place = mine.value.place
        values = f"{theirs.value.cell.text} here and {mine.value.cell.text} at {place}"
        says = f"{label}, {mine.series.name}: {values}"
        why = f"Both tables agree in {same} of {len(pairs)} values of {label}"
        yield Finding(severity, "two-values", theirs.value.place, says, why)


def _keyed(grid: Grid, line: int) -> dict[Key, Printed]:
    """Return the values of a line by collection and measure, if both are known and occur once."""
    known = [(s.dataset, family(s.measure), s) for s in grid.scores if s.measure and s.dataset]
    often = Counter((dataset, measure) for dataset, measure, _ in known)
    return {
        (dataset, measure): Printed(series, series.values[line])
        for dataset, measure, series in known
        if line in series.values and often[dataset, measure] == 1
    }


def family(measure: str) -> str:
    """Return the published name of a measure: recall for success, without the lowest relevant grade."""
    return re.sub(r"\(rel=\d\)", "", measure).replace("Success@", "R@")


def unpublished(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find values of known systems, in seemingly cited lines, that nobody published or reported."""
    for grid in grids:
        for number, line in grid.lines.items():
            yield from _of_system(grid, number, name_of(line.label))


def _of_system(grid: Grid, line: int, name: str) -> Iterator[Finding]:
    keyed = _keyed(grid, line).items() if name else ()
    told = {printed: cells for key, printed in keyed if (cells := known_cells().get((name, *key)))}
    wrong = {printed: cells for printed, cells in told.items() if _is_new(printed.stated, cells)}
    for printed, cells in wrong.items() if 3 * len(wrong) <= len(told) else ():
        places = [stated for cell in cells for stated in (_published(cell), *_of_others(cell))]
        yield from _of_places(grid, printed, sorted(places, key=lambda place: place.number))


def _of_places(grid: Grid, printed: Printed, places: Sequence[Stated]) -> Iterator[Finding]:
    if 30 * (places[-1].number - places[0].number) < places[-1].number:
        near = min(places, key=lambda place: abs(place.number - printed.stated.number))
        says = f"{grid.where(printed.series, printed.value)} is no known value of this system"
        why = f"The nearest of {len(places)} known values is {near.number:f} % ({near.where})"
        yield Finding("note", "published", printed.value.place, says, why)


def _is_new(stated: Stated, cells: Sequence[Cell]) -> bool:
    if not all(stated.differs_from(_published(cell)) for cell in cells):
        return False
    return all(stated.differs_from(other) for cell in cells for other in _of_others(cell))


@at_hand.kept_with_papers
def known_cells() -> dict[tuple[str, str, str], list[Cell]]:
    """Return (system, collection, measure) -> the cells of papers at hand that publish it."""
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    sources = filterfalse(lambda paper: paper.manifest.title.startswith("todo"), at_hand.papers().values())
    for cell in chain.from_iterable(map(numeric_cells, sources)):  # without drafts
        kinds, column = (cell.table.kind, cell.column.kind), cell.column
        if kinds == ("results", "retrieval") and column.dataset and not column.with_:
            for name in {name_of(cell.row.label), name_of(cell.row.system)}:
                cells.setdefault((name, column.dataset, family(column.measure or "")), []).append(cell)
    return cells


def _published(cell: Cell) -> Stated:
    return Stated.of(cell.number, cell.printed.decimals, cell.unit, cell.id)


def _of_others(cell: Cell) -> Iterator[Stated]:
    for note in notes(cell):
        yield Stated.of(note.value, decimals_of(note.value), cell.unit, f"{note.label} on {cell.id}")


_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z(])")
_TABLE = r"(?:Table|Tab\.|Tbl\.)[\s~]*(?P<table>\d+)"
_NUMBER = r"(?<![\d.,@-])(?P<number>\d*\.\d+)(?![\d.]*\d)"
# a number directly before its table, e.g. "0.366 in Table 2"
IN_TABLE = re.compile(rf"{_NUMBER}\s*(?:%|points?)?[^.;:,\d]{{0,40}}\b(?:in|of|from)\s+{_TABLE}\b")
FROM_TO = re.compile(r"\bfrom\s+(?P<low>\d*\.\d+)\s*%?\s+to\s+(?P<high>\d*\.\d+)(?![\d.]*\d)")
BY = re.compile(
    r"\bby\s+(?:about |around |over |more than |only )?(?P<number>\d*\.\d+)\s*"
    r"(?P<unit>%|percent|points?|absolute)?"
)
RELATION = re.compile(r"(?i)\b(by|from|than|below|above|over|gain|improve\w*|drop\w*|difference)\b")
NO_QUOTE = re.compile(r"(?i)\bon average\b|\baverag|\bp\s*[<=]|respectively|up to")


@dataclass(frozen=True)
class Numbered:
    """A table with its number in the text."""

    number: str
    grid: Grid

    @property
    def values(self) -> list[Value]:
        """Return its numbers."""
        return [value for series in self.grid.series for value in series.values.values()]


def wrong_quotes(manuscript: Manuscript, grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find sentences with a number that their table or cell does not have, e.g. "0.366 in Table 2"."""
    labels, pairs = manuscript.labels, zip(manuscript.tables, grids, strict=True)
    tables = [Numbered(each.number or labels.get(each.label, ""), grid) for each, grid in pairs]
    by_number = {table.number: table for table in tables}
    for place, paragraph in manuscript.prose:
        for sentence in _END.split(paragraph):
            yield from _in_table(place, sentence, by_number)
            yield from _from_to(place, sentence, by_number)
            yield from _by(place, sentence, tables)
            yield from _of_one(place, sentence, by_number)


def _in_table(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    for match in IN_TABLE.finditer(sentence) if not NO_QUOTE.search(sentence) else ():
        table, text = tables.get(match["table"]), match["number"]
        if table and table.values and not _is_in(text, table) and (near := _nearest(text, table)):
            says = f"The text quotes {text} from Table {table.number}"
            why = f"The table lacks this number. The nearest one is {near.cell.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _from_to(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    pointers = {m["table"] for m in re.finditer(_TABLE, sentence)}
    for match in FROM_TO.finditer(sentence):
        table = tables.get(next(iter(pointers))) if len(pointers) == 1 else None
        if table is None:
            continue
        lacking = [text for text in (match["low"], match["high"]) if not _is_in(text, table)]
        if len(lacking) == 1 and (near := _nearest(lacking[0], table)):
            says = f"{match[0]}: Table {table.number} lacks {lacking[0]}"
            why = f"It has the other number. The nearest one is {near.cell.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _by(place: Place, sentence: str, tables: Sequence[Numbered]) -> Iterator[Finding]:
    matches = list(BY.finditer(sentence))
    if len(matches) != 1 or NO_QUOTE.search(sentence):
        return
    text, is_share = matches[0]["number"], matches[0]["unit"] in ("%", "percent", None)
    pairs = [pair for table in tables for pair in _pairs_in(sentence, table)]
    if pairs and not any(_differs_by(one, other, text, is_share) for one, other in pairs):
        one, other = pairs[0]
        says = f"{matches[0][0]}: the two systems never differ by this"
        why = f"Their numbers include {one.cell.text} and {other.cell.text} at {one.place}"
        yield Finding("doubt", "prose", place, says, why)


def _of_one(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    if (found := _only_number(sentence, tables)) is None:
        return
    table, text = found
    lines = _labels_in(sentence, table)
    if len(lines) != 1 or _nearest(text, table) is None:
        return
    cells = [each.values[lines[0]] for each in _series_in(sentence, table) if lines[0] in each.values]
    if cells and not any(_is_same(text, value) for value in cells):
        label = table.grid.lines[lines[0]].label
        says = f"The text gives {text} for {label} in Table {table.number}"
        numbers = ", ".join(f"{value.cell.text} at {value.place}" for value in cells[:3])
        yield Finding("doubt", "prose", place, says, f"The table has {numbers}")


def _only_number(sentence: str, tables: Mapping[str, Numbered]) -> tuple[Numbered, str] | None:
    pointers = {match["table"] for match in re.finditer(_TABLE, sentence)}
    numbers = re.findall(_NUMBER, sentence)
    if len(pointers) != 1 or len(numbers) != 1 or not _measured(sentence):
        return None
    table = tables.get(pointers.pop())
    if table is None or NO_QUOTE.search(sentence) or RELATION.search(sentence):
        return None
    return table, numbers[0]


def _measured(sentence: str) -> bool:
    return len({str(measure) for measure in measures(re.sub(r"[.,;:](?=\s|$)", " ", sentence))}) == 1


def _pairs_in(sentence: str, table: Numbered) -> Iterator[tuple[Value, Value]]:
    lines = _labels_in(sentence, table)
    for series in _series_in(sentence, table) if len(lines) == 2 else ():
        one, other = (series.values.get(line) for line in lines)
        if one and other:
            yield one, other


def _labels_in(sentence: str, table: Numbered) -> list[int]:
    names = [(without_remarks(line.label), n) for n, line in table.grid.lines.items()]
    lines = [(name, n) for name, n in names if len(name) > 2]
    named = [
        (label, n) for label, n in lines if re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", sentence)
    ]
    return [n for label, n in named if not any(label != other and label in other for other, _ in named)]


def _series_in(sentence: str, table: Numbered) -> list[Series]:
    plain = re.sub(r"[.,;:](?=\s|$)", " ", sentence)
    named = {family(str(measure)) for measure in measures(plain)}
    collections = {each.id for each in named_collections(without_measures(plain))}
    return [
        series
        for series in table.grid.scores
        if (not named or family(series.measure or "") in named)
        and (not collections or series.dataset in collections)
    ]


def _differs_by(one: Value, other: Value, text: str, is_share: bool) -> bool:
    stated, half = Decimal(text), half_unit(decimals_of(Decimal(text)))
    slack = one.half + other.half
    for digits in (0, 2):  # as fractions and as points
        apart = shift_point(abs(one.number - other.number), digits)
        if abs(apart - stated) <= shift_point(slack, digits) + half:
            return True
    for base in (one, other) if is_share else ():
        if base.number > base.half:
            share = 100 * abs(one.number - other.number) / base.number
            if abs(share - stated) <= 100 * 2 * slack / base.number + half:
                return True
    return False


def _is_in(text: str, table: Numbered) -> bool:
    stated = Decimal(text)
    half = half_unit(decimals_of(stated))
    if any(_is_same(text, value) for value in table.values):
        return True
    pairs = (pair for s in table.grid.series for pair in combinations_with_replacement(s.values.values(), 2))
    differences = (abs(one.number - other.number) for one, other in pairs)
    return any(abs(shift_point(d, digits) - stated) <= half for d in differences for digits in (0, 2))


def _is_same(text: str, value: Value) -> bool:
    stated = Decimal(text)
    half = half_unit(decimals_of(stated))
    return any(
        abs(shift_point(value.number, digits) - stated) <= max(half, shift_point(value.half, digits))
        for digits in (0, 2, -2)
    )


def _nearest(text: str, table: Numbered) -> Value | None:
    stated = Decimal(text)
    near = min(table.values, key=lambda value: abs(value.number - stated))
    return near if abs(near.number - stated) * 10 <= near.number else None
