"""Tables for a terminal: as the paper prints them."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from repro.manifest.cells import Cell
from repro.manifest.schema import Row, Table


def printed_table(name: str, table: Table, cells: Sequence[Cell]) -> Group:
    """A table as printed: bold, marks and dashes included, our rows on print's axis."""
    title = f"{name} table {table.id}: {table.about} ({table.unit}; print)"
    lines = [
        [Text(row.label + (f" {row.marks}" if row.marks else "")), *map(_as_printed, _of(cells, row))]
        for row in table.rows
    ]
    head = [""] + [" ".join(c.head) or c.id for c in table.columns]
    if table.transposed:
        lines = [[Text(head[i + 1]), *(line[i + 1] for line in lines)] for i in range(len(table.columns))]
        head = ["", *(row.label for row in table.rows)]
    view = grid(head)
    for number, line in enumerate(lines):
        if not table.transposed:
            _group_heading(view, table, number, len(head))
        view.add_row(*line)
    return titled(title, view)


def _as_printed(cell: Cell) -> Text:
    if cell.printed.value is None:
        return Text(cell.text if not cell.printed.is_dash else "–")
    delta = f" ({cell.printed.delta:+})" if cell.printed.delta is not None else ""
    return Text(cell.printed.plain + cell.printed.marks + delta, style="bold" if cell.printed.bold else "")


def _of(cells: Sequence[Cell], row: Row) -> list[Cell]:
    return [c for c in cells if c.row.id == row.id]


def _group_heading(view: RichTable, table: Table, number: int, width: int) -> None:
    row = table.rows[number]
    if row.group and (number == 0 or table.rows[number - 1].group != row.group):
        label = next(g.label for g in table.groups if g.id == row.group)
        view.add_row(Text(label, style="italic"), *[""] * (width - 1))


def titled(title: str, view: RichTable) -> Group:
    """A table below its bold title; a title of rich's own would be folded to the width of the table."""
    return Group(Text(title, style="bold"), view)


def grid(head: Sequence[str]) -> RichTable:
    """An empty table; columns without a name hold labels, the others numbers."""
    view = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(head):
        view.add_column(name, justify="left" if number < 2 and not name else "right", overflow="fold")
    return view
