"""Rows as in cells.yaml, and recipes of known systems."""

import contextlib
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, compress, product
from pathlib import Path

from repro.errors import ReproError
from repro.graph import grouped
from repro.manifest.cells import Cell, cells_of, is_measured
from repro.manifest.papers import Paper, home, kept_with_papers, load, papers, readings
from repro.manifest.printed import DASHES, PublishedCell, parse
from repro.manifest.reading_schema import Reading
from repro.plugins.manuscripts import notation, source_tables, vocabulary
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.recipe.request import Choices, Request

MARKS = "*†‡"  # in published strings


@dataclass(frozen=True)
class Transcription:
    """A cell as a published string, and the content that the string cannot express."""

    text: str
    remainder: str = ""

    @property
    def number(self) -> Decimal | None:
        return parse(self.text).value


def transcribe(cell: source_tables.SourceCell) -> Transcription:
    """Return a cell as a published string, e.g. ``"**36.6†**"``, or as a dash if it has no number."""
    text = cell.text.strip()
    if text in DASHES:
        return Transcription("-")
    marks = "".join(filter(MARKS.__contains__, cell.marks))
    others = " ".join(mark for mark in cell.marks if mark not in MARKS)
    number, bracket, delta = text.partition(" (")
    whole = parse(f"{number}{marks}{bracket}{delta}")
    stars = "**" if cell.bold else ""
    if not whole.is_garbled and (whole.value is not None or not marks):
        return Transcription(f"{stars}{whole.text}{stars}", others)
    beginning = notation.PUBLISHED.match(text)
    if beginning is None:
        return Transcription("-", " ".join((text, *cell.marks)))
    sign, digits, unit = beginning.groups(default="")
    plain = digits.replace(",", "")
    plain = f"0{plain}" if plain.startswith(".") else plain
    rest = f"{text[beginning.end() :].strip()} {others}"
    return Transcription(f"{stars}{sign}{plain}{unit}{marks}{stars}", rest.strip())


def bold_scope(columns: Sequence[Sequence[str]], groups: Sequence[str]) -> str:
    """Return where bold marks the best of the columns' cells: "column", "group", "none" or "unknown"."""
    whole = [list(map(parse, c)) for c in columns]
    if not any(c.bold for c in chain.from_iterable(whole)):
        return "none"
    if all(map(_marks_best, whole)):
        return "column"
    within = [[group == each for group in groups] for each in dict.fromkeys(groups)]
    in_groups = (list(compress(*pair)) for pair in product(whole, within))
    return "group" if all(map(_marks_best, in_groups)) else "unknown"


def _marks_best(cells: Sequence[PublishedCell]) -> bool:
    numbers = [(c.value, c.bold) for c in cells if c.value is not None]
    most = max((number for number, _ in numbers), default=None)
    return all(is_bold == (number == most) for number, is_bold in numbers)


CLOSE = Decimal("0.01")  # one point, as between two runs
FINEST = Decimal("0.001")  # numbers with fewer decimals are equal by chance
Values = Mapping[tuple[str, str], Decimal]  # (collection, measure) -> a fraction


@dataclass(frozen=True)
class KnownRow:
    """A row of a paper at hand, found by the name of its system."""

    source: Paper
    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        return self.cells[0].row_path

    @property
    def recipe(self) -> str:
        """``module:function``, or ""."""
        recipe = self.cells[0].row.recipe or ""
        return recipe if not recipe or ":" in recipe else f"{self.source.package}.recipes:{recipe}"

    @property
    def options(self) -> dict:
        """The options of the row's recipe, without the choice of a definition of recall."""
        options = self.cells[0].row.with_.items()
        return {name: value for name, value in options if not self._names_recall(value)}

    @property
    def not_measurable(self) -> str:
        return self.cells[0].row.not_measurable

    @functools.cached_property
    def is_shared(self) -> bool:
        return bool(self.recipe) and home(self.recipe) is None

    @functools.cached_property
    def values(self) -> dict[tuple[str, str], Decimal]:
        return {key(c.column.dataset, c.column.measure): as_fraction(c.number, c.unit) for c in self.cells}

    def readings(self, datasets: Iterable[str]) -> dict[str, Reading]:
        """Return id -> reading of ``source`` that its recipe uses on these datasets but does not define."""
        owner = home(self.recipe)
        beside = Path(load(f"{self.recipe.partition(':')[0]}:__file__")).with_name("readings.yaml")
        included = _Readings(owner.readings if owner else readings(beside), self.source.readings)
        for name in datasets:
            member = next(iter(dataset(name).members), name)
            with contextlib.suppress(ReproError):  # of unsupported collections
                load(self.recipe)(Request(member, Choices(included), None), **self.options)
        return included.taken

    def _names_recall(self, value: object) -> bool:
        reading = self.source.readings.get(value) if isinstance(value, str) else None
        return reading is not None and all(v in ("R", "Success", None) for v in reading.choices.values())


class _Readings(dict[str, Reading]):
    def __init__(self, included: Mapping[str, Reading], others: Mapping[str, Reading]):
        super().__init__(included)
        self.others, self.taken = others, dict[str, Reading]()

    def __missing__(self, id: str) -> Reading:
        self.taken[id] = self.others[id]
        return self.taken[id]


@dataclass(frozen=True)
class Match:
    row: KnownRow | None
    sure: vocabulary.Sure
    reason: str


def match(label: str, values: Values) -> Match:
    """Find the known row of a label and its numbers. One with a shared recipe may differ by a point."""
    named = known_rows().get(plain(label), [])
    if not named:
        return Match(None, "unknown", "no known system has this name")
    rows = [row for row in named if _shared(row, values)] or named
    best = max(rows, key=lambda row: (_equal(row, values), row.is_shared, -_largest_gap(row, values)))
    if _is_same(best, values):
        return Match(best, "certain", f"same name and numbers as {best.id}")
    if best.is_shared and _largest_gap(best, values) <= CLOSE:
        return Match(best, "likely", f"same name as {best.id}, but no equal number")
    ids = ", ".join(dict.fromkeys(row.id for row in named))
    return Match(None, "unknown", f"rows of this name have other numbers ({ids})")


def _is_same(row: KnownRow, values: Values) -> bool:
    equal = _equal(row, values)
    if row.recipe and not row.is_shared:
        return equal == len(_shared(row, values)) and equal > (row.cells[0].role != "ours")
    return equal > 0 and _largest_gap(row, values) <= CLOSE


def plain(label: str) -> str:
    bare = re.sub(r"\[[^\]]*\]|\((?:ours|our[^)]*|reproduced|et al[^)]*|\d{4})\)", "", label.lower())
    word = re.sub(r"[^a-z0-9]", "", bare)
    return str(vocabulary.facts()["systems"].get(word, word))


def key(dataset: str | None, measure: str | None) -> tuple[str, str]:
    return dataset or "", re.sub(r"^(?:R|Success)(?:\(rel=\d\))?@", "R@", measure or "")


def as_fraction(number: Decimal, unit: str) -> Decimal:
    return number.scaleb(-2) if unit == "percent" else number


@kept_with_papers
def known_rows() -> dict[str, list[KnownRow]]:
    rows = defaultdict[str, list[KnownRow]](list)
    for source in (paper for paper in papers().values() if not paper.manifest.is_study):
        by_row = grouped((c.row_path, c) for c in cells_of(source) if _is_compared(c))
        for cells in by_row.values():
            if cells[0].row.recipe or cells[0].row.not_measurable:
                rows[plain(cells[0].row.label)].append(KnownRow(source, tuple(cells)))
    return dict(rows)


def _is_compared(cell: Cell) -> bool:
    defined = cell.column.dataset and cell.column.measure
    return bool(is_measured(cell) and cell.is_numeric and defined)


def _shared(row: KnownRow, values: Values) -> list[tuple[Decimal, Decimal]]:
    return [(row.values[name], value) for name, value in values.items() if name in row.values]


def _equal(row: KnownRow, values: Values) -> int:
    shared = [(a, b, max(_step(a), _step(b))) for a, b in _shared(row, values)]
    return sum(abs(a - b) <= step / 2 for a, b, step in shared if step <= FINEST)


def _largest_gap(row: KnownRow, values: Values) -> Decimal:
    return max((abs(a - b) for a, b in _shared(row, values)), default=Decimal(0))


def _step(number: Decimal) -> Decimal:
    return Decimal(1).scaleb(int(number.as_tuple().exponent))
