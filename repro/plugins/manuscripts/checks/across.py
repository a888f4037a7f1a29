"""One system in several tables, and known systems beside what was published and measured of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from repro.manifest import papers as at_hand
from repro.manifest.cells import Cell, numeric_cells
from repro.manifest.decimals import are_apart, half_unit, percent
from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.verdicts.additions import side_values

_REMARK = re.compile(
    r"(?i)\s*(\[[^\]]*\]|\([^)]*\d{4}[a-z]?\)|\((ours?|this work|proposed)\)|et al\.?.*)\s*$"
)
Key = tuple[str, str]  # collection, measure: success counts as recall, under whose name it is published


@dataclass(frozen=True)
class Stated:
    """A value in per cent with half a unit of its last digit, and where it stands."""

    number: Decimal
    half: Decimal
    where: str

    @classmethod
    def of(cls, number: Decimal, decimals: int, unit: str, where: str) -> Stated:
        """Return a number of that unit with so many digits after the point."""
        return cls(percent(number, unit), percent(half_unit(decimals), unit), where)

    def differs_from(self, other: Stated) -> bool:
        """Return whether the two cannot be of one measured number."""
        return are_apart(self.number, self.half, other.number, other.half)

    def is_near(self, other: Stated) -> bool:
        """Return whether they lie within a fiftieth."""
        return 50 * abs(self.number - other.number) < max(self.number, other.number)


@dataclass(frozen=True)
class Printed:
    """A number of a table and the series that it stands in."""

    series: Series
    value: Value

    @property
    def stated(self) -> Stated:
        """Return the number in per cent; a series with none above 1 is one of fractions."""
        largest = max(value.number for value in self.series.values.values())
        unit, value = "percent" if largest > 1 else "fraction", self.value
        return Stated.of(value.number, value.decimals, unit, str(value.place))


def name_of(label: str) -> str:
    """Return a name without citation, case, spaces and hyphens."""
    return re.sub(r"[\s_\-–—]+", "", without_remarks(label)).lower()


def without_remarks(label: str) -> str:
    """Return a label without the citation behind it, or that it is the paper's own."""
    return _REMARK.sub("", label).strip()


def several_values(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find a system that two tables give different values of one measure on one collection.

    Its label has to be the same, and stand once in each table. Where twice as many of its values are the same
    in both, the others are doubts; else values that all lie within a fiftieth are notes, and wider ones are
    taken for another training of the same name.
    """
    for one, other in combinations(grids, 2):
        theirs = _unique_lines(other)
        for name, line in _unique_lines(one).items():
            if name in theirs:
                yield from _of_lines(one, line, other, theirs[name])


def _unique_lines(grid: Grid) -> dict[str, int]:
    """Return the name of each system that stands once in a table -> its line."""
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
        says = f"{label}, {mine.series.name}: {theirs.value.cell.text}, and {mine.value.cell.text} at {place}"
        why = f"{same} of {len(pairs)} values of {label} are the same in both tables"
        yield Finding(severity, "two-values", theirs.value.place, says, why)


def _keyed(grid: Grid, line: int) -> dict[Key, Printed]:
    """Return the values of a line of which collection and measure are known, those that stand there once."""
    known = [(s.dataset, family(s.measure), s) for s in grid.scores if s.measure and s.dataset]
    often = Counter((dataset, measure) for dataset, measure, _ in known)
    return {
        (dataset, measure): Printed(series, series.values[line])
        for dataset, measure, series in known
        if line in series.values and often[dataset, measure] == 1
    }


def family(measure: str) -> str:
    """Return the name that a measure is published under: recall for success, without the lowest grade."""
    return re.sub(r"\(rel=\d\)", "", measure).replace("Success@", "R@")


def unpublished(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find values of known systems that differ from all that was published or measured of them.

    Said where twice as many values of the line are known ones, so that it is cited and not run again, and
    where those that are known lie within a thirtieth: where they do not, one more is no news.
    """
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
        says = f"{grid.where(printed.series, printed.value)} stands nowhere else"
        why = f"of {len(places)} known values the nearest is {near.number:f} % ({near.where})"
        yield Finding("note", "published", printed.value.place, says, why)


def _is_new(stated: Stated, cells: Sequence[Cell]) -> bool:
    """Return whether a value is neither published nor measured; what others measured is read only then."""
    if not all(stated.differs_from(_published(cell)) for cell in cells):
        return False
    return all(stated.differs_from(other) for cell in cells for other in _of_others(cell))


@at_hand.kept_with_papers
def known_cells() -> dict[tuple[str, str, str], list[Cell]]:
    """Return system, collection and measure -> the cells in which papers at hand publish it."""
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    sources = [each for each in at_hand.papers().values() if not each.manifest.title.startswith("asked")]
    for cell in (cell for source in sources for cell in numeric_cells(source)):  # of no draft
        kinds, column = (cell.table.kind, cell.column.kind), cell.column
        if kinds == ("results", "retrieval") and column.dataset and not column.with_:
            for name in {name_of(cell.row.label), name_of(cell.row.system)}:
                cells.setdefault((name, column.dataset, family(column.measure or "")), []).append(cell)
    return cells


def _published(cell: Cell) -> Stated:
    return Stated.of(cell.number, cell.printed.decimals, cell.unit, cell.id)


def _of_others(cell: Cell) -> Iterator[Stated]:
    for kind in side_values(cell).values():
        for value in kind.values:
            yield Stated.of(value.value, value.decimals, cell.unit, f"{value.maker} on {cell.id}")
