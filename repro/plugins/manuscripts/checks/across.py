"""One system in several tables, and known systems beside what was published and measured of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from repro.manifest import papers as at_hand
from repro.manifest.cells import numeric_cells
from repro.manifest.decimals import half_unit, percent
from repro.plugins.manuscripts.findings import Finding
from repro.plugins.manuscripts.series import Grid, Series, Value
from repro.verdicts.additions import side_values

_CITATION = re.compile(r"\s*(\[[^\]]*\]|\([^)]*\d{4}[a-z]?\)|et al\.?.*)\s*$")
Key = tuple[str, str]  # collection, measure: success counts as recall, under whose name it is published


@dataclass(frozen=True)
class Stated:
    """A value in per cent with half a unit of its last digit, and where it stands."""

    number: Decimal
    half: Decimal
    where: str


def name_of(label: str) -> str:
    """Return a name without citation, case, spaces and hyphens."""
    return re.sub(r"[\s_\-–—]+", "", _CITATION.sub("", label)).lower()


def several_values(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find a system that two tables give different values of one measure on one collection.

    Its label has to be the same, and stand once in each table. Where twice as many of its
    values are the same in both, the others are doubts; else two values that lie within a fiftieth are a note,
    and wider ones are taken for another training of the same name.
    """
    for one, other in combinations(grids, 2):
        theirs = _unique_lines(other)
        for name, mine in _unique_lines(one).items():
            pairs = list(_pairs(one, mine, other, theirs[name])) if name in theirs else []
            unequal = [(a, b) for a, b in pairs if _differ(_stated(*a), _stated(*b))]
            same = len(pairs) - len(unequal)
            is_doubt = same >= max(2, 2 * len(unequal))
            if not is_doubt and not all(_are_near(_stated(*a), _stated(*b)) for a, b in unequal):
                continue
            for (series, value), (_, there) in unequal:
                label = one.lines[mine].label
                says = f"{label}, {series.name}: {there.cell.text}, and {value.cell.text} at {value.place}"
                why = f"{same} of {len(pairs)} values of {label} are the same in both tables"
                yield Finding("doubt" if is_doubt else "note", "two-values", there.place, says, why)


def _are_near(one: Stated, other: Stated) -> bool:
    return 50 * abs(one.number - other.number) < max(one.number, other.number)


def _unique_lines(grid: Grid) -> dict[str, int]:
    names = [(name_of(line.label), number) for number, line in grid.lines.items() if line.label.strip()]
    return {name: n for name, n in names if sum(name == other for other, _ in names) == 1}


def _keyed(grid: Grid, line: int) -> Iterator[tuple[Key, Series, Value]]:
    """Yield the values of a line of which collection and measure are known, those that stand there once."""
    known = [(key, s, s.values[line]) for s in grid.scores if line in s.values and (key := key_of(s))]
    yield from (each for each in known if sum(each[0] == other for other, _, _ in known) == 1)


def key_of(series: Series) -> Key | None:
    """Return collection and measure of a series; None where one of them is not known."""
    if series.measure is None or series.dataset is None:
        return None
    return series.dataset, family(series.measure)


def family(measure: str) -> str:
    """Return the name that a measure is published under: recall for success, without the lowest grade."""
    return re.sub(r"\(rel=\d\)", "", measure).replace("Success@", "R@")


def _pairs(one: Grid, mine: int, other: Grid, theirs: int):
    there = {key: (series, value) for key, series, value in _keyed(other, theirs)}
    for key, series, value in _keyed(one, mine):
        if key in there:
            yield (series, value), there[key]


def _stated(series: Series, value: Value) -> Stated:
    largest = max(v.number for v in series.values.values())
    unit = "percent" if largest > 1 else "fraction"
    return Stated(percent(value.number, unit), percent(value.half, unit), str(value.place))


def _differ(one: Stated, other: Stated) -> bool:
    """Return whether two printed numbers cannot be of one measured number."""
    return abs(one.number - other.number) > one.half + other.half


def unpublished(grids: Sequence[Grid]) -> Iterator[Finding]:
    """Find values of known systems that differ from all that was published or measured of them.

    Said where the same row repeats another known value, so that it is cited and not run again: authors may
    train and tune a system anew, and then none of its values need be known.
    """
    known = known_values()
    for grid in grids:
        for number, line in grid.lines.items():
            told = []
            for key, series, value in _keyed(grid, number):
                if places := known.get((name_of(line.label), *key)):
                    mine = _stated(series, value)
                    told.append((series, value, places, all(_differ(mine, each) for each in places)))
            wrong = [each for each in told if each[3]]
            if not 2 * len(wrong) <= len(told):
                continue
            for series, value, places, _ in wrong:
                near = min(places, key=lambda each: abs(each.number - _stated(series, value).number))
                says = f"{line.label}, {series.name}: {value.cell.text} stands nowhere else"
                why = f"of {len(places)} known values the nearest is {near.number:f} % ({near.where})"
                yield Finding("note", "published", value.place, says, why)


@at_hand.kept_with_papers
def known_values() -> dict[tuple[str, str, str], tuple[Stated, ...]]:
    """Return system, collection and measure -> what papers at hand publish of it, and others measured."""
    values: dict[tuple[str, str, str], list[Stated]] = {}
    for source in at_hand.papers().values():
        for cell in numeric_cells(source):
            column = cell.column
            if (
                (cell.table.kind, column.kind) != ("results", "retrieval")
                or not column.dataset
                or column.with_
            ):
                continue
            stated = [
                Stated(
                    percent(cell.number, cell.unit),
                    percent(half_unit(cell.printed.decimals), cell.unit),
                    cell.id,
                )
            ]
            for kind in side_values(cell).values():
                for each in kind.values:
                    half = percent(half_unit(each.decimals), cell.unit)
                    stated.append(Stated(percent(each.value, cell.unit), half, f"{each.maker} on {cell.id}"))
            for name in {name_of(cell.row.label), name_of(cell.row.system)}:
                values.setdefault((name, column.dataset, family(column.measure or "")), []).extend(stated)
    return {key: tuple(stated) for key, stated in values.items()}
