"""Findings on unusual numbers, e.g. a part of a new system that scores exactly like an earlier system."""

import re
from collections.abc import Iterator
from itertools import pairwise, product

from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.plugins.statements.across_papers import Scored, dataset_and_measure, scored_cells
from repro.plugins.statements.findings import Finding, printed

EQUAL, TURNED = 2, 3  # the fewest equal measures, and rows in another order
_CUTOFF = re.compile(r"(\w+)@(\d+)")
Scores = dict[Scored, Cell]


def of_patterns(source: Paper) -> Iterator[Finding]:
    tables = [table for table in source.manifest.tables if table.kind == "results"]
    yield from _equal_parts(source, tables)
    for table in tables:
        yield from _out_of_line(source, table)
        cells = cells_of(source, (table,))
        if table.promises_bold and not any(cell.printed.bold for cell in cells):
            says = "the caption promises bold for the best, but the texts at hand have no bold number"
            placed = [(f"{source.name}/{table.id}", "")]
            yield Finding.of(source, "note", "bold", f"{table.id}/no-bold", placed, says)


def _equal_parts(source: Paper, tables: list[Table]) -> Iterator[Finding]:
    rows: dict[str, Scores] = {}
    for cell in scored_cells(cells_of(source, tuple(tables))):
        rows.setdefault(cell.id.rpartition("/")[0], {})[dataset_and_measure(cell)] = cell
    for part, system in product(filter(_is_part, rows.values()), filter(_is_earlier, rows.values())):
        common = [key for key in part if key in system]
        equal = [key for key in common if part[key].number == system[key].number]
        if len(equal) >= EQUAL:
            cells = [scores[key] for key in equal for scores in (part, system)]
            one, other = cells[:2]
            says = (
                f"{one.row.label} of Table {one.table.id} has the numbers of {other.row.label} in "
                f"{len(equal)} of {len(common)} measures: there the gain comes from the other parts alone"
            )
            identifier = f"equal/{one.table.id}/{one.row.id}/{other.row.id}"
            yield Finding.of(source, "note", "equal", identifier, printed(cells), says)


def _is_part(row: Scores) -> bool:
    return any(cell.role == "ours" and cell.printed.delta is not None for cell in row.values())


def _is_earlier(row: Scores) -> bool:
    return next(iter(row.values())).role != "ours"


def _out_of_line(source: Paper, table: Table) -> Iterator[Finding]:
    families: dict[tuple, dict[int, dict[str, Cell]]] = {}
    for cell in cells_of(source, (table,)):
        if cell.is_numeric and (match := _CUTOFF.fullmatch(cell.column.measure or "")):
            key = cell.column.dataset, match[1], cell.row.group
            families.setdefault(key, {}).setdefault(int(match[2]), {})[cell.row.id] = cell
    for by_cutoff in families.values():
        columns = [by_cutoff[cutoff] for cutoff in sorted(by_cutoff)]
        for (before, at), (_, after) in pairwise(pairwise(columns)):
            yield from _turned(source, before, at, after)


def _turned(source: Paper, *columns: dict[str, Cell]) -> Iterator[Finding]:
    before, at, after = columns
    rows = [row for row in at if row in before and row in after]
    for row in rows:
        turned = [at[other] for other in rows if _is_turned(row, other, *columns)]
        if len(turned) >= TURNED:
            yield _order_finding(source, [at[row], *turned], before[row], after[row])


def _is_turned(row: str, other: str, *columns: dict[str, Cell]) -> bool:
    before, at, after = (column[row].number - column[other].number for column in columns)
    return before * after > 0 > before * at


def _order_finding(source: Paper, cells: list[Cell], before: Cell, after: Cell) -> Finding:
    cell, *others = cells
    side, opposite = ("below", "above") if cell.number < others[0].number else ("above", "below")
    names = ", ".join(c.row.label for c in others)
    says = (
        f"{cell.column.label} of {cell.row.label} is {side} {names}, but {opposite} them in the neighbouring "
        f"columns {before.column.label} and {after.column.label}"
    )
    identifier = f"order/{cell.table.id}/{cell.row.id}/{cell.column.id}"
    return Finding.of(source, "note", "order", identifier, printed(cells), says)
