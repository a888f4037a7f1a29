"""Compares values with other tables and known papers, e.g. 0.366 here and 0.361 in Table 2."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, combinations, filterfalse, product
from operator import attrgetter

from repro import errors, graph, hooks
from repro.manifest import papers as at_hand
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.printed import are_apart, decimals_of, half_unit, percent
from repro.plugins.manuscripts.checks import Finding, Findings
from repro.plugins.manuscripts.notation import EFFECT
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.plugins.manuscripts.vocabulary import without_measures

_REMARK = re.compile(
    r"(?i)\s*(\[[^\]]*\]|\([^)]*\d{4}[a-z]?\)|\((ours?|this (work|thesis)|proposed|full( model)?|default)\)"
    r"|et al\.?.*)\s*$"
)
Key = tuple[str, str]  # collection, measure


@dataclass(frozen=True)
class Stated:
    """A value in per cent, half a unit of its last digit, and its place."""

    number: Decimal
    half: Decimal
    where: str

    @classmethod
    def of(cls, number: Decimal, decimals: int, unit: str, where: str) -> Stated:
        return cls(percent(number, unit), percent(half_unit(decimals), unit), where)

    def differs_from(self, other: Stated) -> bool:
        return are_apart(self.number, self.half, other.number, other.half)

    def is_near(self, other: Stated) -> bool:
        return 10 * abs(self.number - other.number) < max(self.number, other.number)


@dataclass(frozen=True)
class Printed:
    series: Series
    value: Value

    @property
    def stated(self) -> Stated:
        """The number in per cent. A series without numbers above 1 contains fractions."""
        unit = "percent" if max(value.number for value in self.series) > 1 else "fraction"
        return Stated.of(self.value.number, self.value.decimals, unit, str(self.value.place))


def name_of(label: str) -> str:
    return re.sub(r"[\s_\-–—]+", "", without_remarks(label)).lower()


def without_remarks(label: str) -> str:
    return _REMARK.sub("", label).strip()


def several_values(grids: Sequence[Grid]) -> Findings:
    """Find systems with different values of one measure on one collection in two tables."""
    for one, other in combinations(grids, 2):
        yield from (swapped := list(_swapped_systems(one, other)))
        shared = _shared_lines(one, other)
        lines = shared if not swapped else ()
        found = [finding for line, their in lines for finding in _of_lines(one, line, other, their)]
        numbers = sum(len(_shared_values(one, line, other, their)) for line, their in shared)
        if 3 * len(found) <= max(6, numbers):  # else the tables have other settings
            yield from found or _repeated(one, other, shared)


def _repeated(one: Grid, other: Grid, shared: Sequence[tuple[int, int]]) -> Findings:
    for mine, theirs in product(one.series, other.series) if len(shared) > 2 else ():
        lines = [(a, b) for a, b in shared if a in mine.values and b in theirs.values]
        pairs = [(mine.values[a], theirs.values[b]) for a, b in lines]
        unequal = [(a, b) for a, b in pairs if abs(a.number - b.number) >= a.half + b.half]
        if len(pairs) > 2 and len(unequal) == 1 and all(v.number >= 200 * v.half for v in chain(*pairs)):
            [(a, b)] = unequal
            says = f"{other.where(theirs, b)} here and {a.text} at {a.place}"
            why = f"Both columns agree in the {len(pairs) - 1} other values that they share"
            is_near = 10 * abs(a.number - b.number) < a.number
            yield from [Finding("note", "two-values", b.place, says, why)] * is_near


def _unique_lines(grid: Grid) -> dict[str, int]:
    names = [(name_of(line.label), number) for number, line in grid.lines.items()]
    often = Counter(name for name, _ in names)
    return {name: number for name, number in names if name and often[name] == 1}


def _shared_lines(one: Grid, other: Grid) -> list[tuple[int, int]]:
    theirs = _unique_lines(other)
    return [(line, theirs[name]) for name, line in _unique_lines(one).items() if name in theirs]


def _shared_values(one: Grid, line: int, other: Grid, other_line: int) -> dict[Key, tuple[Printed, Printed]]:
    here, there = _keyed(one, line), _keyed(other, other_line)
    return {key: (here[key], there[key]) for key in here if key in there}


def _unequal(pairs: Iterable[tuple[Printed, Printed]]) -> list[tuple[Printed, Printed]]:
    return [(a, b) for a, b in pairs if a.stated.differs_from(b.stated)]


def _of_lines(one: Grid, line: int, other: Grid, other_line: int) -> Findings:
    pairs = _shared_values(one, line, other, other_line).values()
    unequal = _unequal(pairs)
    if swapped := list(_swapped(unequal)):
        yield from swapped
        return
    same = len(pairs) - len(unequal)
    is_doubt = same >= max(2, 2 * len(unequal))
    label, severity = other.lines[other_line].label, "doubt" if is_doubt else "note"
    is_reported = is_doubt or (same and all(a.stated.is_near(b.stated) for a, b in unequal))
    for mine, theirs in unequal if is_reported else ():
        values = f"{theirs.value.text} here and {mine.value.text} at {mine.value.place}"
        says = f"{label}, {mine.series.name}: {values}"
        why = f"Both tables agree in {same} of {len(pairs)} values of {label}"
        yield Finding(severity, "two-values", theirs.value.place, says, why)


def _swapped(unequal: Sequence[tuple[Printed, Printed]]) -> Findings:
    if len(unequal) == 2:
        (a, b), (c, d) = unequal
        if not (a.stated.differs_from(d.stated) or c.stated.differs_from(b.stated)):
            says = f"{b.value.text} and {d.value.text} have changed places"
            why = f"{a.value.place} has {a.value.text} and {c.value.text} in this order"
            yield Finding("doubt", "two-values", b.value.place, says, why)


def _swapped_systems(one: Grid, other: Grid) -> Findings:
    shared = (_shared_values(one, line, other, their).items() for line, their in _shared_lines(one, other))
    for pairs in graph.grouped(chain.from_iterable(shared)).values():
        yield from _swapped(_unequal(pairs))


def _keyed(grid: Grid, line: int) -> dict[Key, Printed]:
    around = _ON.findall(grid.table.caption)
    caption = around[0].lower() if len(around) == 1 else ""
    scores = [(_collection(s, caption), measure_of(grid, s), s) for s in grid.scores if not s.is_difference]
    known = [each for each in scores if all(each)]
    often = Counter((dataset, measure) for dataset, measure, _ in known)
    return {
        (dataset, measure): Printed(series, series.values[line])
        for dataset, measure, series in known
        if line in series.values and often[dataset, measure] == 1
    }


def measure_of(grid: Grid, series: Series) -> str:
    text = series.name if EFFECT.search(series.name) else grid.table.caption
    names = {match["name"].lower().replace("-", " ") for match in EFFECT.finditer(text)}
    names = {{"em": "exact match", "acc": "accuracy"}.get(name, name) for name in names}
    return family(series.measure) if series.measure else "".join(names if len(names) == 1 else ())


def _collection(series: Series, caption: str) -> str:
    words = without_measures(re.sub(rf"{EFFECT.pattern}(?:\s?@\s?\d+)?", " ", series.name))
    named = "" if series.total else " ".join(sorted(words)) or caption
    return series.dataset or (named and f"'{named}'")


_ON = re.compile(r"\bon\s+([A-Z][a-z]+)\b")


def family(measure: str) -> str:
    """Return a measure as papers print it, e.g. "R@5" for "Success(rel=2)@5"."""
    return re.sub(r"\(rel=\d\)", "", measure).replace("Success@", "R@")


def unpublished(grids: Sequence[Grid]) -> Findings:
    """Find values of known systems that nobody published or reported."""
    for grid in grids:
        for number, line in grid.lines.items():
            yield from _of_system(grid, number, name_of(line.label))


def _of_system(grid: Grid, line: int, name: str) -> Findings:
    keyed = _keyed(grid, line).items() if name else ()
    found = {printed: cells for key, printed in keyed if (cells := known_cells().get((name, *key)))}
    places = {p: sorted(_known(cells), key=attrgetter("number")) for p, cells in found.items()}
    wrong = [p for p, known in places.items() if all(map(p.stated.differs_from, known))]
    if len(wrong) == 1 and (own := _beside_others(found, wrong[0])):
        says = f"{grid.where(wrong[0].series, wrong[0].value)} is no known value of this system"
        why = f"The {len(found) - 1} others are known together with {own.number:f} % ({own.where})"
        yield Finding("note", "published", wrong[0].value.place, says, why)
        return
    far = [printed for printed in wrong if _is_far(printed.stated, places[printed])]
    if len(far) != 1 and 3 * len(wrong) > len(found):
        yield from _of_other_run(grid, line, found, wrong)
        return
    for printed in far if len(far) == 1 else wrong:
        yield from _of_places(grid, printed, places[printed])


def _beside_others(known: Mapping[Printed, list[Cell]], wrong: Printed) -> Stated | None:
    rows = [
        {c.id.rpartition("/")[0] for c in cells if p is wrong or not p.stated.differs_from(_own(c))}
        for p, cells in known.items()
    ]
    beside = (_own(c) for c in known[wrong] if c.id.rpartition("/")[0] in set.intersection(*rows))
    far = (own for own in beside if abs(own.number - wrong.stated.number) > Decimal("0.5"))
    return next(far, None) if len(known) > 3 else None


def _of_other_run(
    grid: Grid, line: int, known_values: Mapping[Printed, list[Cell]], wrong: Iterable[Printed]
) -> Findings:
    parts, near = list[str](), list[Printed]()
    for printed in wrong:
        cells, stated = known_values[printed], printed.stated
        is_cited = any(c.row.role == "cited" for c in cells)
        if is_cited and any(stated.is_near(known) for known in _known(cells)):
            known = _nearest(stated, map(_own, cells))
            text = f"{printed.series.name} {printed.value.text}"
            parts.append(f"{text} (known: {known.number:f} %, {known.where})")
            near.append(printed)
    if near:
        says = f"{grid.lines[line].label}: {len(near)} of {len(known_values)} values are no known ones"
        why = f"Another index, checkpoint or cutoff? {errors.first_of(parts, 3)}"
        yield Finding("note", "published", near[0].value.place, says, why)


def _nearest(stated: Stated, places: Iterable[Stated]) -> Stated:
    return min(places, key=lambda place: abs(place.number - stated.number))


def _is_far(stated: Stated, places: Sequence[Stated]) -> bool:
    return len(places) > 4 and not 4 * places[0].number < 5 * stated.number < 6 * places[-1].number


def _of_places(grid: Grid, printed: Printed, places: Sequence[Stated]) -> Findings:
    lowest, highest = places[0].number, places[-1].number
    if 30 * (highest - lowest) < highest or _is_far(printed.stated, places):
        near = _nearest(printed.stated, places)
        says = f"{grid.where(printed.series, printed.value)} is no known value of this system"
        why = f"The nearest of its {len(places)} published values is {near.number:f} % ({near.where})"
        yield Finding("note", "published", printed.value.place, says, why)


@at_hand.kept_with_papers
def known_cells() -> dict[tuple[str, str, str], list[Cell]]:
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    sources = filterfalse(lambda paper: paper.manifest.title.startswith("todo"), at_hand.papers().values())
    for cell in chain.from_iterable(map(numeric_cells, sources)):  # without drafts
        kinds, column = (cell.table.kind, cell.column.kind), cell.column
        if kinds == ("results", "retrieval") and column.dataset and not column.with_:
            for name in {name_of(cell.row.label), name_of(cell.row.system)}:
                cells.setdefault((name, column.dataset, family(column.measure or "")), []).append(cell)
    return cells


def _own(cell: Cell) -> Stated:
    return Stated.of(cell.number, cell.printed.decimals, cell.unit, cell.id)


def _known(cells: Sequence[Cell]) -> Iterator[Stated]:
    for cell in cells:
        yield _own(cell)
        for note in hooks.notes(cell):
            yield Stated.of(note.value, decimals_of(note.value), cell.unit, f"{note.label} on {cell.id}")
