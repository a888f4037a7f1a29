"""Averages, deltas and bold numbers of a table, recomputed from its own cells."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.printed import rounded
from repro.manifest.schema import Table


def disagreements(source: Paper) -> Iterator[tuple[str, str]]:
    """Yield the cells that do not follow from the rest of their table, as pairs of id and fault."""
    for table in source.manifest.tables:
        if table.kind == "results":
            cells = {(c.row.id, c.column.id): c for c in cells_of(source, (table,))}
            yield from _averages(table, cells)
            yield from _deltas(table, cells)
            yield from _bolds(table, cells)


def _averages(table: Table, cells: dict[tuple[str, str], Cell]) -> Iterator[tuple[str, str]]:
    for cell in cells.values():
        parts = [cells[cell.row.id, column] for column in cell.column.mean_of]
        if not parts or not all(part.is_numeric for part in (cell, *parts)):
            continue
        mean = sum((part.printed.number for part in parts), Decimal()) / len(parts)
        if cell.printed.value not in rounded(mean, cell.printed.decimals):
            statement = f"{mean:.4f}, the paper says {cell.printed.plain}"
            yield cell.id, f"the mean of its {len(parts)} cells is {statement}"


def _deltas(table: Table, cells: dict[tuple[str, str], Cell]) -> Iterator[tuple[str, str]]:
    for cell in cells.values():
        if cell.printed.delta is None or table.delta_from is None:
            continue
        base = cells[table.delta_from, cell.column.id].printed.number
        if cell.printed.number - base != cell.printed.delta:
            yield cell.id, f"{cell.printed.plain} - {base} is not {cell.printed.delta}"


def _bold_scopes(cells: Iterable[Cell]) -> Iterable[list[Cell]]:
    scopes: dict[tuple, list[Cell]] = {}
    for cell in cells:
        if cell.is_numeric:
            scopes.setdefault(bold_scope(cell), []).append(cell)
    return scopes.values()


def _bolds(table: Table, cells: dict[tuple[str, str], Cell]) -> Iterator[tuple[str, str]]:
    if table.bold in ("unknown", "none"):
        return
    for members in _bold_scopes(cells.values()):
        if not any(cell.printed.bold for cell in members):
            continue
        best = max(cell.printed.number for cell in members)
        for cell in members:
            if cell.printed.bold != (cell.printed.number == best):
                state = "bold" if cell.printed.bold else "not bold"
                yield cell.id, f"{cell.printed.plain} is {state}, the best of its {table.bold} is {best}"


def bold_scope(cell: Cell) -> tuple:
    """Return what the cells that a bold number is the best of have in common with it, in their table."""
    scopes = {"group": (cell.column.id, cell.row.group), "column": (cell.column.id,), "row": (cell.row.id,)}
    return scopes.get(cell.table.bold, ())
