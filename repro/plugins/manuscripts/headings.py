"""The collection and measure of each column, e.g. both for the heading "MS MARCO dev, MRR@10"."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from repro.plugins.manuscripts import layout as layouts
from repro.plugins.manuscripts import notation, source_tables, vocabulary
from repro.plugins.manuscripts.layout import Layout
from repro.plugins.manuscripts.vocabulary import (
    NamedMeasure,
    Resolution,
    facts,
    measure_on,
    without_measures,
    words,
)

NOTHING = Resolution(None, "certain")
Unit = Literal["percent", "fraction"] | None
UNNAMED = Resolution(reason="neither the heading nor the caption names one collection")
_BEIR = "no measure is named, and BEIR uses nDCG@10"
_OF_COLLECTIONS = re.compile(
    r"(?i)(data ?sets?|collections?|corpora|corpus|tasks?|benchmarks?|test sets?|languages?|domains?)"
)
_OF_ROWS = re.compile(r"(?i)\b(best|highest|bold|shaded)\b[^.;]*\b(each|every|per|its|a)\s+row\b|row-?wise")
_DEFINED = re.compile(
    r"(?<![\w@])(?P<short>[A-Za-z][\w%-]{0,7})\s*(?:denotes|is|are|means|stands\s+for|refers\s+to|for|=|:)\s*"
    r"(?P<long>[^,.;()]{2,30})"
)


@dataclass(frozen=True)
class ColumnMeaning:
    """The collection and measure of the column ``place`` below the headings ``head``, the outermost first.

    ``mean_of`` lists the columns that it is the mean of, and ``named`` is the measure in its heading.
    """

    place: int
    head: tuple[str, ...]
    dataset: Resolution
    measure: Resolution
    unit: Unit = None
    mean_of: tuple[int, ...] = ()
    is_cost: bool = False
    is_mean: bool = False
    named: NamedMeasure | None = None


@dataclass(frozen=True)
class Meaning:
    """The columns of a table with systems as rows. ``unit`` is that of most columns."""

    layout: Layout
    is_transposed: bool
    columns: tuple[ColumnMeaning, ...]
    unit: Unit

    @property
    def is_of_results(self) -> bool:
        """True if a column has a measure or collection, even one that the suite lacks."""
        parts = [part for c in self.columns if not c.is_cost for part in (c.dataset, c.measure)]
        return any(part.value or part.choices or part.sure == "elsewhere" for part in parts)


def meaning(table: source_tables.SourceTable, *, is_turned: bool = False) -> Meaning:
    """Return a table's meaning, transposed if its rows are measures or collections, or if ``is_turned``."""
    plan = layouts.layout(table, vocabulary.measures)
    beside, depth = _named_beside(plan)
    is_transposed = is_turned or _is_transposed(plan, beside)
    if is_transposed:
        plan = layouts.layout(layouts.transposed(table, depth), vocabulary.measures)
    shared = _Shared.of(plan)
    columns = [_column(plan, place, shared) for place in plan.values]
    units = Counter(c.unit for c in columns if c.unit and not c.is_cost)
    unit = units.most_common(1)[0][0] if units else None
    return Meaning(plan, is_transposed, tuple(_averaged(plan, c, columns) for c in columns), unit)


def _is_transposed(plan: Layout, beside: int) -> bool:
    heads = [" ".join(plan.head(place)) for place in plan.values]
    above = sum(vocabulary.names_something(h) or notation.EFFECT.search(h) is not None for h in heads)
    is_stated = _OF_COLLECTIONS.fullmatch(plan.corner) or _OF_ROWS.search(plan.table.caption)
    return beside * max(len(heads), 1) > above * max(len(plan.rows), 1) or bool(is_stated and not above)


def _named_beside(plan: Layout) -> tuple[int, int]:
    last = max(plan.labels, default=0)
    places = (last, *range(last + 1, min(plan.values, default=0)))
    counts = [sum(vocabulary.is_name(plan.table.body[row][p].text) for row in plan.rows) for p in places]
    most = max(counts)
    return most, places[counts.index(most)] + 1


@dataclass(frozen=True)
class _Shared:
    measures: tuple[NamedMeasure, ...]
    words: frozenset[str]
    is_beir: bool
    defined: Mapping[str, NamedMeasure]
    in_caption: tuple[NamedMeasure, ...]

    @classmethod
    def of(cls, plan: Layout) -> "_Shared":
        text = " ".join((plan.corner, plan.table.caption))
        heads = [" ".join(plan.head(place)) for place in plan.values]
        in_caption = tuple(vocabulary.measures(text))
        measures = () if any(map(vocabulary.measures, heads)) else in_caption
        defined = _defined(" ".join((text, *plan.table.legend)))
        return cls(measures, without_measures(text), _is_of_beir(plan, heads), defined, in_caption)


def _is_of_beir(plan: Layout, heads: Sequence[str]) -> bool:
    ids = [vocabulary.collection(without_measures(head)).value or "" for head in heads]
    cells = (plan.table.body[row][place].text for row in plan.rows for place in plan.values)
    counts = sum((notation.leading_number(c) or 0) > 100 for c in cells)
    return sum(id.startswith("beir/") for id in ids) >= 3 and counts < 2  # one may be a misprint


def _defined(text: str) -> dict[str, NamedMeasure]:
    found = {}
    for match in _DEFINED.finditer(text):
        named = list(vocabulary.measures(match["long"]))
        if len(named) == 1 and named[0].cutoff:
            found[match["short"]] = named[0]
    return found


def _column(plan: Layout, place: int, shared: _Shared) -> ColumnMeaning:
    head = plan.head(place)
    text = " ".join(head)
    unit = _unit([plan.table.body[row][place].text for row in plan.rows], text)
    if words(text) & set(facts()["costs"]) and not vocabulary.names_something(text):
        return ColumnMeaning(place, head, NOTHING, NOTHING, unit, is_cost=True)
    named, reason = _named(head, shared)
    plain = without_measures(text)
    dataset, is_mean = _dataset(head, plain, named, shared), _is_mean(head, plain)
    if reason == _BEIR and not any((is_mean, dataset.sure != "unknown", dataset.choices)):
        named, reason = None, f"the heading {text!r} names neither a measure nor a BEIR collection"
    measure = measure_on(named, dataset) if named else Resolution(reason=reason)
    if reason and measure.value:
        measure = replace(measure, sure="likely", reason=reason)
    return ColumnMeaning(place, head, dataset, measure, unit, is_mean=is_mean, named=named)


def _dataset(
    head: Sequence[str], plain: frozenset[str], named: NamedMeasure | None, shared: _Shared
) -> Resolution:
    name = named.name if named else None
    dataset = _of_part(vocabulary.collection(_refined(plain, shared.words), name), plain)
    if dataset.choices:
        nearest = vocabulary.collection(without_measures(head[-1]), name)
        return nearest if nearest.value else dataset
    if dataset.sure == "unknown":
        return _of_part(_of_caption(shared.words, name), frozenset(w for w in shared.words if len(w) > 2))
    return _of_part(dataset, frozenset(w for w in shared.words & set(facts()["languages"]) if len(w) > 2))


def _named(head: Sequence[str], shared: _Shared) -> tuple[NamedMeasure | None, str]:
    said = [part for text in head for part in (text, text.rpartition(" ")[2])]  # e.g. "Recipes P"
    if defined := [shared.defined[part] for part in said if part in shared.defined]:
        return defined[-1], ""
    text, named = " ".join(head), _in_heading(head)
    if len(named) > 1:
        return None, f"the heading {text!r} names {', '.join(map(str, named))}"
    if named:
        cut = [each for each in shared.in_caption if each.name == named[0].name and each.cutoff]
        return (cut[0] if len(cut) == 1 and not named[0].cutoff else named[0]), ""
    if shared.is_beir and not shared.measures:
        return NamedMeasure("nDCG", 10), _BEIR
    if len(shared.measures) == 1:
        return shared.measures[0], ""
    return None, f"the heading {text!r} names no measure"


def _in_heading(head: Sequence[str]) -> list[NamedMeasure]:
    named: list[NamedMeasure] = []
    for first in range(len(head) - 1, -1, -1):
        named = list(vocabulary.measures(" ".join(head[first:])))
        if len(named) > 1 or any(each.cutoff for each in named):
            break
    return named


def _refined(plain: frozenset[str], caption: frozenset[str]) -> frozenset[str]:
    for group in map(set, facts()["refinements"]):
        if not plain & group and len(caption & group) == 1:
            plain |= caption & group
    return plain


def _of_part(dataset: Resolution, said: frozenset[str]) -> Resolution:
    if dataset.value and said & set(facts()["pieces"]):
        return Resolution(reason=f"the heading names a part of {dataset.value}")
    if dataset.value and said & set(facts()["languages"]) - words(dataset.value):
        return Resolution(reason=f"a translation of {dataset.value} is named")
    parts = frozenset(("train", "dev", "test"))
    meant = parts & set((dataset.value or "").split("/"))
    if not meant or not (parts & said) or meant & said:
        return dataset
    other = " and ".join(sorted(parts & said))
    return Resolution(reason=f"the heading says {other}, but {dataset.value} is another part")


def _of_caption(plain: frozenset[str], measure: str | None) -> Resolution:
    dataset = vocabulary.collection(plain, measure)
    if dataset.value is None:
        return UNNAMED
    named = vocabulary.named_collections(plain, measure)
    rest = plain - {word for each in named for name in each.names for word in name}
    if vocabulary.named_collections(rest):
        return Resolution(reason="the heading names no collection, and the caption several")
    reason = "the caption alone names the collection"
    return replace(dataset, sure="likely", reason=", and ".join(filter(None, (reason, dataset.reason))))


def _unit(texts: Iterable[str], head: str) -> Unit:
    numbers = [abs(n) for n in map(notation.leading_number, texts) if n is not None]
    if not numbers:
        return None
    return "percent" if max(numbers) > 1 or "%" in head else "fraction"


def _is_mean(head: Sequence[str], plain: frozenset[str]) -> bool:
    last = words(head[-1]) if head else frozenset[str]()
    return any(words(name) in (last, plain) for name in facts()["averages"])


def _averaged(plan: Layout, column: ColumnMeaning, columns: Sequence[ColumnMeaning]) -> ColumnMeaning:
    if not column.is_mean:
        return column
    for parts in _averageable(column, columns):
        if len(parts) > 1 and _fits(plan, column, parts):
            measure = parts[0].measure
            if any(part.measure.value != measure.value for part in parts):
                measure = Resolution(reason="its columns have several measures")
            places = tuple(part.place for part in parts)
            return replace(column, dataset=NOTHING, measure=measure, mean_of=places)
    return replace(column, dataset=Resolution(reason="no set of columns has these means"))


def _averageable(column: ColumnMeaning, columns: Sequence[ColumnMeaning]) -> list[list[ColumnMeaning]]:
    others = [c for c in columns if not (c.is_mean or c.is_cost)]
    before = [c for c in others if c.place < column.place]
    of_heading = [c for c in others if c.head[:1] == column.head[:1]]
    return [before, others, of_heading, [c for c in others if c.measure.value == column.measure.value]]


def _fits(plan: Layout, column: ColumnMeaning, parts: Sequence[ColumnMeaning]) -> bool:
    votes = Counter[bool]()
    for cells in (plan.table.body[row] for row in plan.rows):
        text = cells[column.place].text.strip()
        numbers = [notation.leading_number(cells[part.place].text) for part in (column, *parts)]
        known = [n for n in numbers if n is not None]
        if len(known) == len(numbers):
            decimals = re.match(r"[-+\d,]*\.?(\d*)", text)
            step = 10.0 ** -len(decimals[1] if decimals else "")
            votes[abs(known[0] - sum(known[1:]) / len(parts)) <= 1.01 * step] += 1
    return votes[True] > votes[False]


def with_neighbours(tables: Sequence[Meaning]) -> list[Meaning]:
    """Return the tables. A column without a collection gets the only one of its measure in the source."""
    known = defaultdict[NamedMeasure, set[str]](set)
    for column in (column for table in tables for column in table.columns):
        if column.named and column.dataset.value:
            known[column.named].add(column.dataset.value)
    return [_completed(table, known) for table in tables]


def _completed(table: Meaning, known: Mapping[NamedMeasure, set[str]]) -> Meaning:
    of = {c.place: known.get(c.named, set()) for c in table.columns if c.named and _is_open(c)}
    single = set().union(*(ids for ids in of.values() if len(ids) == 1))
    if len(single) != 1:
        return table
    [id] = single
    only, columns = Resolution(id, "likely", "no other collection of the source has this measure"), []
    for column in table.columns:
        if column.named and id in of.get(column.place, ()):
            column = replace(column, dataset=only, measure=measure_on(column.named, only))
        columns.append(column)
    return replace(table, columns=tuple(columns))


def _is_open(column: ColumnMeaning) -> bool:
    others = without_measures(" ".join(column.head))
    return column.dataset == UNNAMED and not (column.is_mean or others)
