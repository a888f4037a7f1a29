"""What a row is called where its table is not in sight."""

from __future__ import annotations

from repro.manifest.schema import Row, Table


def in_full(table: Table, row: Row) -> str:
    """The row's label, with its group's where another row has the same."""
    if sum(other.label == row.label for other in table.rows) == 1:
        return row.label
    group = next((g.label for g in table.groups if g.id == row.group), row.group)
    return f"{row.label} ({group})" if group else row.id
