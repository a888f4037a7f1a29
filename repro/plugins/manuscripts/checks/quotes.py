"""Checks numbers that a sentence quotes from a table, e.g. "0.366 in Table 2"."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from itertools import chain, combinations_with_replacement
from operator import attrgetter

from repro.manifest.printed import decimals_of, half_unit, shift_point
from repro.plugins.manuscripts.checks import Finding, Findings, across
from repro.plugins.manuscripts.series import SPREADS, Grid, Series, Value
from repro.plugins.manuscripts.source_tables import Manuscript, Place
from repro.plugins.manuscripts.vocabulary import measures, named_collections, without_measures, words

END = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])|(?<=;)\s+|(?<=\)\.)\s+(?=[a-z])")
TABLE = r"(?:Table|Tab\.|Tbl\.)[\s~]*(?P<table>\d+)"
NUMBER = r"(?<![\d.,@-])(?P<number>\d*\.\d+)(?![\d.]*\d)"
IN_TABLE = re.compile(rf"{NUMBER}\s*(?:%|points?)?[^.;:,\d]{{0,40}}\b(?:in|of|from)\s+{TABLE}\b")
_TABLES = re.compile(rf"{TABLE}|Tables[\s~]*\d+(?:(?:\s*(?:,|and|&|to|–))+[\s~]*(?:Table[\s~]*)?\d+)*")
FROM_TO = re.compile(r"\bfrom\s+(?P<low>\d*\.\d+)\s*%?\s+to\s+(?P<high>\d*\.\d+)(?![\d.]*\d)")
NO_QUOTE = re.compile(r"(?i)\bon average\b|\baverag|\bp\s*[<=]|respectively|up to")

Mentions = list[tuple[int, int]]  # positions in a sentence and lines


@dataclass(frozen=True)
class Numbered:
    number: str
    grid: Grid

    @property
    def values(self) -> list[Value]:
        return [value for series in self.grid.series for value in series]

    @cached_property
    def scores(self) -> tuple[Series, ...]:
        return tuple(replace(each, is_score=True) for each in self.grid.series if _is_score(each))


def _is_score(series: Series) -> bool:
    is_plain = series.sign == 0 and not re.search(rf"\((?!%|in %|\d)|{SPREADS.pattern}", series.name)
    is_score = series.is_score or (is_plain and all(v.decimals and 0 <= v.number <= 100 for v in series))
    return is_score and bool(series.values) and not series.is_difference


def numbered(manuscript: Manuscript, grids: Sequence[Grid]) -> list[Numbered]:
    labels, pairs = manuscript.labels, zip(manuscript.tables, grids, strict=True)
    return [Numbered(each.number or labels.get(each.label, ""), grid) for each, grid in pairs]


def sentences(manuscript: Manuscript) -> Iterator[tuple[Place, str]]:
    for place, paragraph in manuscript.prose:
        yield from ((place, s) for s in END.split(paragraph))


def wrong_quotes(place: Place, sentence: str, tables: Sequence[Numbered]) -> Findings:
    by_number = {t.number: t for t in tables}
    yield from _in_table(place, sentence, by_number)
    yield from _from_to(place, sentence, by_number)


def _in_table(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Findings:
    for match in IN_TABLE.finditer(sentence) if not NO_QUOTE.search(sentence) else ():
        table, text = tables.get(match["table"]), match["number"]
        if table and table.values and not is_in(text, table) and (near := nearest(text, table)):
            says = f"The text quotes {text} from Table {table.number}"
            why = f"The table lacks this number. The nearest one is {near.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _from_to(place: Place, sentence: str, tables: Mapping[str, Numbered]) -> Findings:
    pointers = _pointers(sentence)
    if len(pointers) != 1 or not (table := tables.get(min(pointers))):
        return
    for match in FROM_TO.finditer(sentence):
        lacking = [text for text in (match["low"], match["high"]) if not is_in(text, table)]
        if len(lacking) == 1 and (near := nearest(lacking[0], table)):
            says = f"{match[0]}: Table {table.number} lacks {lacking[0]}"
            why = f"It has the other number. The nearest one is {near.text} at {near.place}"
            yield Finding("doubt", "prose", place, says, why)


def _pointers(sentence: str) -> set[str]:
    return {number for match in _TABLES.finditer(sentence) for number in re.findall(r"\d+", match[0])}


def plain(sentence: str) -> str:
    """Return a sentence with blanks for the punctuation behind words."""
    return re.sub(r"[.,;:](?=\s|$)", " ", sentence)


def find(name: str, sentence: str) -> re.Match[str] | None:
    flag = re.IGNORECASE if re.search(r"\w-\w|\d", name) else re.NOFLAG  # e.g. "otter-base"
    spelled = f"(?:{re.escape(name)}|^{re.escape(name[:1].upper() + name[1:])})"
    return re.search(rf"(?<![\w-]){spelled}(?![\w-])", sentence, flag)


def labels_in(sentence: str, table: Numbered) -> Mentions:
    lines, found = dict[str, list[int]](), Mentions()
    for number, line in table.grid.lines.items():
        lines.setdefault(name := across.without_remarks(line.label), []).append(number)
        size = name.rpartition("-")[2]  # e.g. "the large model" for Otter-large
        if re.search(rf"\bthe {re.escape(size)} (?:model|checkpoint|variant|version)\b", sentence):
            lines.setdefault(size, []).append(number)
    corner = table.grid.table.head[0][0].text if table.grid.table.head else ""
    for label in sorted(lines, key=len, reverse=True):
        if _is_name(label, corner, sentence):
            while match := find(label, sentence):
                found += [(match.start(), line) for line in lines[label]]
                sentence = f"{sentence[: match.start()]}{' ' * len(match[0])}{sentence[match.end() :]}"
    return sorted(found)


def _is_name(text: str, context: str, sentence: str) -> bool:
    if not re.fullmatch(r"\d[\d.,]*[kKM]?", text):
        return len(text) > 2
    found = re.finditer(rf"\b{text}\b(?!\s*%)", sentence)
    near = (sentence[max(m.start() - 12, 0) : m.end() + 20] for m in found)
    return any(words(context) & words(part) - words(text) for part in near)


def _is_of(series: Series, named: set[str]) -> bool:
    own = {across.family(series.measure)} if series.measure else _measures(series.name)
    return not (named and own) or bool(named & (own | {name.partition("@")[0] for name in own}))


def _with_half(text: str) -> tuple[Decimal, Decimal]:
    return Decimal(text), half_unit(decimals_of(Decimal(text)))


def differs_by(one: Value, other: Value, text: str, is_share: bool) -> bool:
    stated, half = _with_half(text)
    for digits in (0, 2):  # as fractions and as points
        apart = shift_point(abs(one.number - other.number), digits)
        if abs(apart - stated) <= shift_point(one.half + other.half, digits) + half:
            return True
    return is_share and differs_by_share(one, other, text)


def differs_by_share(one: Value, other: Value, text: str) -> bool:
    """Return whether both differ by ``text`` per cent of ``other``, or of either if ``one`` is not larger."""
    stated, half = _with_half(text)
    apart = 100 * abs(one.number - other.number)
    for base, value in ((other, one), (one, other))[: 1 if one.number > other.number else 2]:
        if base.number > base.half:
            slack = 100 * (value.half + base.half * value.number / base.number) / base.number
            if abs(apart / base.number - stated) <= slack + half:
                return True
    return False


def is_in(text: str, table: Numbered) -> bool:
    """Return whether a table has the number ``text``, or two values in a column that differ by it."""
    stated, half = _with_half(text)
    if any(is_same(text, value) for value in table.values):
        return True
    pairs = (pair for series in table.grid.series for pair in combinations_with_replacement(series, 2))
    differences = (abs(one.number - other.number) for one, other in pairs)
    return any(abs(shift_point(d, digits) - stated) <= half for d in differences for digits in (0, 2))


def is_same(text: str, value: Value) -> bool:
    """Return whether the number ``text`` is ``value`` up to rounding, also as a fraction or in per cent."""
    stated, half = _with_half(text)
    return any(
        abs(shift_point(value.number, digits) - stated) <= max(half, shift_point(value.half, digits))
        for digits in (0, 2, -2)
    )


def nearest(text: str, table: Numbered) -> Value | None:
    """Return the table's value nearest to the number ``text``, or None if over 10 % away."""
    stated = Decimal(text)
    near = min(table.values, key=lambda value: abs(value.number - stated))
    return near if abs(near.number - stated) * 10 <= near.number else None


WE = re.compile(
    r"(?i)\b(we|ours?(?:\s+(?:best\s+)?(?:full\s+)?(?:model|method|approach|system|retriever|encoder)s?)?"
    r"|the\s+proposed\s+\w+|this\s+(?:model|method|approach))\b"
)
_OURS = re.compile(r"(?i)\bours?\b|\bthis (?:work|paper|thesis)\b|\bproposed\b")
_NAMED = re.compile(
    r"\b(?:propose|present|introduce|call(?:ed|\s+it|\s+this)?|named?|dub(?:bed)?)\s+(?:it\s+)?"
    r"(?P<name>[A-Z][\w+-]+)"
)
_IT = re.compile(r"\b(?:[Ii]ts?|[Tt]his\s+(?:is|amounts|corresponds|means))\b")
THAN = re.compile(
    r"(?i)\b(?:above|over|below|behind|under|than|against|versus|vs|compared\s+(?:with|to)|relative\s+to"
    r"|improv\w*\s+(?:up)?on|(?:outperform|beat|surpass|exceed)\w*)\s+"
    r"(?:(?:the|that|those|of|our|strong|best|model|system|baseline|value|score|number|result|with|and|,)s?\s*)*"
    r"(?:the\s+(?-i:[a-z]+)\s+)?$"
)
AVERAGE = re.compile(r"(?i)\baverag|\bmean\b")
_SHORT = re.compile(r"\b(?P<long>[A-Z]\w+)\s\((?P<short>\w{2,5})\)")


@dataclass(frozen=True)
class Systems:
    """A sentence (``text``), those ``before`` it in its paragraph, and the tables of its source. ``ours`` has
    the lines of the paper's own systems by table, ``short`` maps abbreviations to names."""

    tables: tuple[Numbered, ...]
    ours: tuple[list[int], ...]
    short: Mapping[str, str]
    place: Place
    before: tuple[str, ...] = ()
    text: str = ""

    @classmethod
    def of(cls, manuscript: Manuscript, tables: Sequence[Numbered]) -> "Systems":
        """Return a source's systems. Own ones are named by a title "Otter: …" or by "we propose Otter"."""
        title = manuscript.title.partition(":")[0].strip()
        texts = [text for _, text in manuscript.prose]
        found = (match["name"] for text in texts for match in _NAMED.finditer(text))
        names = frozenset(filter(None, (title.lower(), *map(str.lower, found))))
        short = {match["short"]: match["long"] for text in texts for match in _SHORT.finditer(text)}
        ours = tuple(_ours(table, names) for table in tables)
        return cls(tuple(tables), ours, short, Place(manuscript.path, 1))

    def finding(self, severity: str, check: str, says: str, why: str) -> Finding:
        return Finding(severity, check, self.place, f"{says}: {short(self.text)}", why)

    def cited(self) -> list[int]:
        """Return the indices of the tables that the sentence cites, or of all if it cites none."""
        return self._of(_pointers(self.text)) or [*range(len(self.tables))]

    def meant(self) -> list[int]:
        """Return the indices of the tables that it cites, or that the paragraph cites last, or []."""
        return next(filter(None, map(self._of, map(_pointers, (self.text, *reversed(self.before))))), [])

    def _of(self, pointers: set[str]) -> list[int]:
        return [n for n, each in enumerate(self.tables) if each.number in pointers]

    def mentions(self, table: int) -> Mentions:
        """Return (position in the sentence, line of the table) of its systems, also of "we" or "it"."""
        named, ours = labels_in(self.text, self.tables[table]), self.ours[table]
        if (match := WE.search(self.text)) and not {line for _, line in named} & set(ours):
            named += [(match.start(), line) for line in ours]
        elif (match := _IT.search(self.text)) and not _subjects(named, self.text[: match.start()]):
            named += [(match.start(), line) for line in self._before(table) or ours]
        return sorted(named)

    def _before(self, table: int) -> list[int]:
        *before, last = self.before or ("",)
        named = replace(self, text=last, before=tuple(before)).mentions(table) if last else []
        subjects = _subjects(named, last)
        return [line for at, line in subjects if at == subjects[0][0]]

    def subjects(self, table: int) -> list[int]:
        return list(dict.fromkeys(line for _, line in self.mentions(table)))

    def columns(self, table: int) -> list[Series]:
        return [each for each in self.tables[table].scores if _is_of(each, _measures(self.text))]

    def scores(self, table: int) -> list[Series]:
        """Return the score columns that the sentence is about, or [] if they have an unread cell."""
        columns, caption = self.columns(table), self.tables[table].grid.remarks
        is_mean, named = AVERAGE.search(self.text), self.named()
        averages = [each for each in columns if is_mean and each.total == "average"]
        about = [*averages, *(each for each in columns if self._heads(each))]
        if not (about or is_mean or (named and not any(find(name, caption) for name in named))):
            about = [each for each in columns if not each.total]
        return [] if any(map(attrgetter("has_unread"), about)) else about

    def judging(self) -> list[int]:
        """Return the indices of cited tables with a named system and score, and one of its numbers."""
        numbers = re.findall(NUMBER, plain(self.text))
        cited = [n for n in self.cited() if self.mentions(n) and self._names(n)]
        return [n for n in cited if not numbers or any(is_in(text, self.tables[n]) for text in numbers)]

    def _names(self, table: int) -> bool:
        is_average, is_measured = AVERAGE.search(self.text), _measures(self.text)
        return any(
            self._heads(each)
            or (is_average and each.total)
            or (is_measured and (each.measure or _measures(each.name)))
            for each in self.columns(table)
        )

    def named(self) -> set[str]:
        scores = (each for table in self.tables for each in table.scores)
        return {name for each in scores for name in self._heads(each)}

    def _heads(self, series: Series) -> dict[str, int]:
        parts = (head.rpartition(" ") for head in series.heads if series.measure)
        without = [name for name, _, last in parts if (series.measure or "").startswith(last)]
        names = tuple(filter(None, (*series.heads, *without, *map(self.short.get, series.heads))))
        return _headed(names, series.dataset, self.text)

    def in_order(self, table: int) -> list[Series]:
        heads = {each: self._heads(each) for each in self.columns(table)}
        return sorted(filter(heads.get, heads), key=lambda each: min(heads[each].values()))


@lru_cache(10_000)
def _headed(names: tuple[str, ...], dataset: str | None, sentence: str) -> dict[str, int]:
    matches = ((name, find(name, sentence)) for name in names if not measures(name))
    context = " ".join(names)
    found = {name: m.start() for name, m in matches if m and _is_name(name, context, sentence)}
    return found or ({dataset: len(sentence)} if dataset and dataset in _collections(sentence) else {})


@lru_cache(10_000)
def _collections(sentence: str) -> set[str]:
    return {each.id for each in named_collections(without_measures(plain(sentence)))}


@lru_cache(10_000)
def _measures(sentence: str) -> set[str]:
    return {across.family(str(measure)) for measure in measures(plain(sentence))}


def _subjects(named: Mentions, text: str) -> Mentions:
    return [(at, line) for at, line in named if at < len(text) and not THAN.search(text[:at])]


def _ours(table: Numbered, names: frozenset[str]) -> list[int]:
    lines = {n: line.label for n, line in table.grid.lines.items()}
    marked = [n for n, label in lines.items() if _OURS.search(label)]
    named = [n for n, label in lines.items() if across.without_remarks(label).lower() in names]
    return named or marked


def listed(values: Iterable[Value]) -> str:
    return ", ".join(f"{value.text} at {value.place}" for value in values)


def short(sentence: str, most: int = 90) -> str:
    text = " ".join(sentence.split()).rstrip(".")
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def is_near(text: str, value: Value) -> bool:
    """Return whether the number ``text`` is at most 10 % from ``value`` or has exchanged digits."""
    stated = Decimal(text)
    numbers = (shift_point(value.number, digits) for digits in (0, 2, -2))
    is_twisted = sorted(text) == sorted(value.text) and text[0] == value.text[0]
    return is_twisted or any(10 * abs(n - stated) <= max(n, stated) for n in numbers)


_LIST = re.compile(r"\d*\.\d+(?:(?:\s*,|\s*and|\s*%)+\s*\d*\.\d+)+")


def wrong_order(said: Systems) -> Findings:
    """Find lists with exchanged or wrong numbers, e.g. "A and B reach 41.2 and 39.5, respectively"."""
    lists = list(map(re.compile(r"\d*\.\d+").findall, _LIST.findall(said.text)))
    if "respectively" not in said.text or len(lists) != 1:
        return
    found = chain.from_iterable(_rows(table, said) for table in said.cited())
    rows = [values for values in found if len(values) == len(lists[0])]
    if not any(all(map(is_same, lists[0], values)) for values in rows):
        tests = map(partial, (_is_exchanged, _is_almost), lists * 2)
        for values in list(chain.from_iterable(filter(test, rows) for test in tests))[:1]:
            says = "The numbers or their order differ"
            yield said.finding("doubt", "prose", says, f"The table has {listed(values)}")


def _is_exchanged(stated: Sequence[str], values: Sequence[Value]) -> bool:
    fits = [{n for n, value in enumerate(values) if is_same(text, value)} for text in stated]
    return all(fits) and _is_one_to_one(sorted(fits, key=len))


def _is_one_to_one(fits: Sequence[set[int]], taken: frozenset[int] = frozenset()) -> bool:
    return not fits or any(_is_one_to_one(fits[1:], taken | {n}) for n in fits[0] - taken)


def _is_almost(stated: Sequence[str], values: Sequence[Value]) -> bool:
    is_right = sum(map(is_same, stated, values)) == len(stated) - 1
    return is_right and all(map(is_near, stated, values))


def _rows(table: int, said: Systems) -> Iterator[list[Value]]:
    lines, scores = said.subjects(table), said.in_order(table)
    yield from (series.on(lines) for series in said.scores(table))
    for line in lines:
        yield [s.values[line] for s in scores if line in s.values]
