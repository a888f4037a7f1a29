"""Checks numbers that a sentence quotes from a table, e.g. "0.366 in Table 2"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations_with_replacement

from repro.manifest.printed import decimals_of, half_unit, shift_point
from repro.plugins.manuscripts.checks import Finding
from repro.plugins.manuscripts.checks.across import family, without_remarks
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.plugins.manuscripts.source_tables import Manuscript, Place
from repro.plugins.manuscripts.vocabulary import measures, named_collections, without_measures

END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z(])")
TABLE = r"(?:Table|Tab\.|Tbl\.)[\s~]*(?P<table>\d+)"
NUMBER = r"(?<![\d.,@-])(?P<number>\d*\.\d+)(?![\d.]*\d)"
# e.g. "0.366 in Table 2"
IN_TABLE = re.compile(rf"{NUMBER}\s*(?:%|points?)?[^.;:,\d]{{0,40}}\b(?:in|of|from)\s+{TABLE}\b")
FROM_TO = re.compile(r"\bfrom\s+(?P<low>\d*\.\d+)\s*%?\s+to\s+(?P<high>\d*\.\d+)(?![\d.]*\d)")
BY = re.compile(
    r"\bby\s+(?:about |around |over |more than |only )?(?P<number>\d*\.\d+)\s*"
    r"(?P<unit>%|percent|points?|absolute)?"
)
RELATION = re.compile(r"(?i)\b(by|from|than|below|above|over|gain|improve\w*|drop\w*|difference)\b")
NO_QUOTE = re.compile(r"(?i)\bon average\b|\baverag|\bp\s*[<=]|respectively|up to")


@dataclass(frozen=True)
class Numbered:
    number: str
    grid: Grid

    @property
    def values(self) -> list[Value]:
        return [value for series in self.grid.series for value in series]


def numbered(manuscript: Manuscript, grids: Sequence[Grid]) -> list[Numbered]:
    labels, pairs = manuscript.labels, zip(manuscript.tables, grids, strict=True)
    return [Numbered(each.number or labels.get(each.label, ""), grid) for each, grid in pairs]


def sentences(manuscript: Manuscript) -> Iterator[tuple[Place, str]]:
    for place, paragraph in manuscript.prose:
        yield from ((place, sentence) for sentence in END.split(paragraph))


def wrong_quotes(place: Place, sentence: str, tables: Sequence[Numbered]) -> Iterator[Finding]:
    """Find numbers of a sentence that the table or cell does not have."""
    by_number = {table.number: table for table in tables}
    yield from _in_table(place, sentence, by_number)
    yield from _from_to(place, sentence, by_number)
    yield from _by(place, sentence, tables)
    yield from _of_one(place, sentence, by_number)


def _in_table(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    for match in IN_TABLE.finditer(sentence) if not NO_QUOTE.search(sentence) else ():
        table, text = tables.get(match["table"]), match["number"]
        if table and table.values and not is_in(text, table) and (near := nearest(text, table)):
            says = f"The text quotes {text} from Table {table.number}"
            why = f"The table lacks this number. The nearest one is {near.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _from_to(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    if (table := _only_table(sentence, tables)) is None:
        return
    for match in FROM_TO.finditer(sentence):
        lacking = [text for text in (match["low"], match["high"]) if not is_in(text, table)]
        if len(lacking) == 1 and (near := nearest(lacking[0], table)):
            says = f"{match[0]}: Table {table.number} lacks {lacking[0]}"
            why = f"It has the other number. The nearest one is {near.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _by(place: Place, sentence: str, tables: Sequence[Numbered]) -> Iterator[Finding]:
    matches = list(BY.finditer(sentence))
    if len(matches) != 1 or NO_QUOTE.search(sentence):
        return
    text, is_share = matches[0]["number"], matches[0]["unit"] in ("%", "percent", None)
    pairs = [pair for table in tables for pair in _pairs_in(sentence, table)]
    if pairs and not any(differs_by(one, other, text, is_share) for one, other in pairs):
        one, other = pairs[0]
        says = f"{matches[0][0]}: the two systems never differ by this"
        why = f"Their numbers include {one.text} and {other.text} at {one.place}"
        yield Finding("doubt", "prose", place, says, why)


def _of_one(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Iterator[Finding]:
    table, numbers = _only_table(sentence, tables), re.findall(NUMBER, sentence)
    lines = labels_in(sentence, table) if table else []
    if table is None or not len(numbers) == len(lines) == len(measures(plain(sentence))) == 1:
        return
    [text], [line] = numbers, lines
    if NO_QUOTE.search(sentence) or RELATION.search(sentence) or nearest(text, table) is None:
        return
    cells = [each.values[line] for each in series_in(sentence, table) if line in each.values]
    if cells and not any(is_same(text, value) for value in cells):
        says = f"The text gives {text} for {table.grid.lines[line].label} in Table {table.number}"
        names = ", ".join(f"{value.text} at {value.place}" for value in cells[:3])
        yield Finding("doubt", "prose", place, says, f"The table has {names}")


def _pointers(sentence: str) -> set[str]:
    return {match["table"] for match in re.finditer(TABLE, sentence)}


def _only_table(sentence: str, tables: Mapping[str, Numbered]) -> Numbered | None:
    pointers = _pointers(sentence)
    return tables.get(pointers.pop()) if len(pointers) == 1 else None


def plain(sentence: str) -> str:
    """Remove the punctuation at the ends of words."""
    return re.sub(r"[.,;:](?=\s|$)", " ", sentence)


def _pairs_in(sentence: str, table: Numbered) -> Iterator[tuple[Value, Value]]:
    lines = labels_in(sentence, table)
    for series in series_in(sentence, table) if len(lines) == 2 else ():
        if series.values.keys() >= set(lines):
            yield series.values[lines[0]], series.values[lines[1]]


def find(name: str, sentence: str) -> re.Match[str] | None:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sentence)


def labels_in(sentence: str, table: Numbered) -> list[int]:
    """Return the lines that a sentence names. A longer label excludes its parts."""
    names = [(without_remarks(line.label), n) for n, line in table.grid.lines.items()]
    lines = [(name, n) for name, n in names if len(name) > 2]
    named = [(label, n) for label, n in lines if find(label, sentence)]
    return [n for label, n in named if not any(label != other and label in other for other, _ in named)]


def series_in(sentence: str, table: Numbered) -> list[Series]:
    """Return the scores of the measures and collections that a sentence names."""
    named = {family(str(measure)) for measure in measures(plain(sentence))}
    collections = {each.id for each in named_collections(without_measures(plain(sentence)))}
    return [
        series
        for series in table.grid.scores
        if (not named or family(series.measure or "") in named)
        and (not collections or series.dataset in collections)
    ]


def differs_by(one: Value, other: Value, text: str, is_share: bool) -> bool:
    """Return whether numbers differ by ``text`` points or, if ``is_share``, per cent."""
    stated, half = Decimal(text), half_unit(decimals_of(Decimal(text)))
    for digits in (0, 2):  # as fractions and as points
        apart = shift_point(abs(one.number - other.number), digits)
        if abs(apart - stated) <= shift_point(one.half + other.half, digits) + half:
            return True
    return is_share and differs_by_share(one, other, text)


def differs_by_share(one: Value, other: Value, text: str) -> bool:
    """Return whether numbers differ by ``text`` per cent of either."""
    stated, half = Decimal(text), half_unit(decimals_of(Decimal(text)))
    apart, slack = 100 * abs(one.number - other.number), 200 * (one.half + other.half)
    bases = [value.number for value in (one, other) if value.number > value.half]
    return any(abs(apart / base - stated) <= slack / base + half for base in bases)


def is_in(text: str, table: Numbered) -> bool:
    """Return whether a table has a number, also as a difference in one column."""
    stated = Decimal(text)
    half = half_unit(decimals_of(stated))
    if any(is_same(text, value) for value in table.values):
        return True
    pairs = (pair for series in table.grid.series for pair in combinations_with_replacement(series, 2))
    differences = (abs(one.number - other.number) for one, other in pairs)
    return any(abs(shift_point(d, digits) - stated) <= half for d in differences for digits in (0, 2))


def is_same(text: str, value: Value) -> bool:
    """Return whether a number is that of a cell, also as a fraction or in per cent."""
    stated = Decimal(text)
    half = half_unit(decimals_of(stated))
    return any(
        abs(shift_point(value.number, digits) - stated) <= max(half, shift_point(value.half, digits))
        for digits in (0, 2, -2)
    )


def nearest(text: str, table: Numbered) -> Value | None:
    """Return the table's nearest number if it is within a tenth, or None."""
    stated = Decimal(text)
    near = min(table.values, key=lambda value: abs(value.number - stated))
    return near if abs(near.number - stated) * 10 <= near.number else None


WE = re.compile(
    r"(?i)\b(we|ours?(?:\s+(?:best\s+)?(?:full\s+)?(?:model|method|approach|system|retriever|encoder)s?)?"
    r"|the\s+proposed\s+\w+|this\s+(?:model|method|approach))\b"
)
_OURS = re.compile(r"(?i)\bours?\b|\bthis (?:work|paper)\b|\bproposed\b")
_NAMED = re.compile(
    r"\b(?:propose|present|introduce|call(?:ed|\s+it|\s+this)?|named?|dub(?:bed)?)\s+(?:it\s+)?"
    r"(?P<name>[A-Z][\w+-]+)"
)


@dataclass(frozen=True)
class Systems:
    tables: tuple[Numbered, ...]
    names: frozenset[str]

    @classmethod
    def of(cls, manuscript: Manuscript, tables: Sequence[Numbered]) -> Systems:
        """Find the own names in a title "Otter: …" and in "we propose Otter"."""
        title = manuscript.front.get("title", "").partition(":")[0].strip()
        found = (match["name"] for _, text in manuscript.prose for match in _NAMED.finditer(text))
        return cls(tuple(tables), frozenset(filter(None, (title.lower(), *map(str.lower, found)))))

    @cached_property
    def ours(self) -> Mapping[int, list[int]]:
        """Index of a table -> the lines of the own system."""
        return {number: self._ours(table) for number, table in enumerate(self.tables)}

    def _ours(self, table: Numbered) -> list[int]:
        lines = {n: line.label for n, line in table.grid.lines.items()}
        marked = [n for n, label in lines.items() if _OURS.search(label)]
        named = [n for n, label in lines.items() if without_remarks(label).lower() in self.names]
        return named or marked

    def cited(self, sentence: str) -> list[int]:
        """Return the indices of the tables that a sentence cites, by default all."""
        pointers = _pointers(sentence)
        return [n for n, each in enumerate(self.tables) if not pointers or each.number in pointers]

    def have(self, text: str) -> bool:
        return any(is_in(text, table) for table in self.tables)

    def subjects(self, table: int, sentence: str) -> list[int]:
        """Return the lines of a table that a sentence names, or means by "we"."""
        named = labels_in(sentence, self.tables[table])
        means_ours = WE.search(sentence) is not None and not set(named) & set(self.ours[table])
        return [*named, *(self.ours[table] if means_ours else ())]

    def pairs(self, table: int, sentence: str) -> Iterator[tuple[Series, Value, Value]]:
        """Yield series and scores of two systems, in the order of the sentence."""
        lines, at = self.subjects(table, sentence), dict[int, int]()
        for line in lines:
            label = without_remarks(self.tables[table].grid.lines[line].label)
            named = find(label, sentence) or WE.search(sentence)
            at[line] = named.start() if named else 0
        if len(lines) == 2 and at[lines[0]] != at[lines[1]]:
            first, second = sorted(lines, key=at.__getitem__)
            for series in self.scores(table, sentence):
                if first in series.values and second in series.values:
                    yield series, series.values[first], series.values[second]

    def scores(self, table: int, sentence: str) -> list[Series]:
        """Return the series that a sentence is about, averages only if it names them."""
        if re.search(r"(?i)\baverag", sentence):
            return [each for each in self.tables[table].grid.series if each.total == "average"]
        named = series_in(sentence, self.tables[table])
        headed = [each for each in named if each.dataset is None and _is_headed(each, sentence)]
        return headed or named

    def names_column(self, sentence: str) -> bool:
        """Return whether a sentence contains a column's heading."""
        scores = (each for table in self.tables for each in table.grid.scores)
        return any(_is_headed(each, sentence) for each in scores)

    def values(self, table: int, sentence: str) -> list[Value]:
        lines = self.subjects(table, sentence)
        scores = self.scores(table, sentence)
        return [each.values[line] for each in scores for line in lines if line in each.values]


def _is_headed(series: Series, sentence: str) -> bool:
    names = [head for head in series.heads if len(head) > 2 and not head.isdigit()]
    return any(find(head, sentence) for head in names)
