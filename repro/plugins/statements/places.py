"""Cells, rows and tables by the short paths of claims: ``table/row/column``, other papers' before a colon."""

from collections.abc import Collection

from repro.errors import UsageError, unknown
from repro.manifest.cells import Cell, cell_of, cells_of, table_of
from repro.manifest.papers import Paper, paper
from repro.manifest.schema import Row, Table


class Places:
    """Finds cells, rows and columns by the paths that the claims of one paper use."""

    def __init__(self, source: Paper):
        self.paper = source
        self._cells: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}

    def cell(self, path: str) -> Cell:
        """The cell ``table/row/column`` or ``paper:table/row/column``. Raises UsageError naming all."""
        source, table, cell_path = self._table(path)
        row, _, column = cell_path.partition("/")
        key = source.name, table.id
        if key not in self._cells:
            self._cells[key] = {(c.row.id, c.column.id): c for c in cells_of(source, (table,))}
        cells = self._cells[key]
        return cells[row, column] if (row, column) in cells else cell_of(source, table, row, column)

    def rows(
        self, path: str, role: str | None = None, group: str | None = None, except_: Collection[str] = ()
    ) -> list[str]:
        """Row paths of a table; ``except_`` takes their paths, ids or systems.

        Rows of reference, which the paper does not have, are left out unless their role is asked for.
        """
        _, table, _ = self._table(path)
        rows_by_names = {(r.id, r.system, f"{path}/{r.id}"): r for r in table.rows}
        _check("row", except_, {name for names in rows_by_names for name in names}, path)
        if group is not None and group not in {g.id for g in table.groups}:
            raise unknown(f"group of table {path}", group, [g.id for g in table.groups])
        return [
            f"{path}/{row.id}"
            for names, row in rows_by_names.items()
            if not set(names) & set(except_) and _has_role(row, role) and group in (None, row.group)
        ]

    def columns(self, path: str, except_: Collection[str] = ()) -> list[str]:
        """Column ids of a table, averages included."""
        _, table, _ = self._table(path)
        ids = [column.id for column in table.columns]
        _check("column", except_, ids, path)
        return [identifier for identifier in ids if identifier not in except_]

    def examples(self, path: str, system: str) -> list[bool]:
        """Whether the passages that a table of examples shows for a system are relevant, one by one."""
        _, table, _ = self._table(path)
        ranks = [rank for example in table.entries for rank in example.shown]
        _check("system", [system], sorted({rank.system for rank in ranks}), path)
        return [bool(rank.relevant) for rank in ranks if rank.system == system]

    def _table(self, path: str) -> tuple[Paper, Table, str]:
        if not isinstance(path, str):
            raise UsageError(f"{path!r} names no cell, row or table; write 'table/row/column'")
        name, colon, inner = path.rpartition(":")
        source = paper(name) if colon else self.paper
        table, _, path_in_table = inner.partition("/")
        return source, table_of(source, table), path_in_table


def _has_role(row: Row, role: str | None) -> bool:
    return row.role == role if role else row.role != "reference"


def _check(kind: str, names, valid, path: str) -> None:
    for name in names:
        if name not in valid:
            raise unknown(f"{kind} of table {path}", name, sorted(valid))
