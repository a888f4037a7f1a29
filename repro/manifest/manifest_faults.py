"""The faults of a cells.yaml that no single field can tell."""

from collections.abc import Iterator

from repro.errors import unknown
from repro.manifest.identified import repetitions
from repro.manifest.printed import parse
from repro.manifest.schema import SHARES, Column, Figure, Manifest, Row, Table
from repro.manifest.yaml_file import Fault


def faults(manifest: Manifest) -> Iterator[Fault]:
    """Faults that no single field can tell: pairs of a location in the document and what is wrong there."""
    for name, items, find in (
        ("table", manifest.tables, _table_faults),
        ("figure", manifest.figures, _figure_faults),
    ):
        yield from repetitions(name, items, (f"{name}s",))
        for number, item in enumerate(items):
            yield from (((f"{name}s", number, *place), reason) for place, reason in find(item))


def _table_faults(table: Table) -> Iterator[Fault]:
    for name in ("column", "row", "group", "exhibit"):
        yield from repetitions(name, getattr(table, f"{name}s"), (f"{name}s",))
    if table.delta_from is not None and table.delta_from not in {row.id for row in table.rows}:
        yield ("delta_from",), f"the table has no row {table.delta_from!r}"
    yield from _mark_faults(table)
    for place, column in enumerate(table.columns):
        for reason in (*_column_faults(table, column), *_unit_faults(table, place)):
            yield ("columns", place), f"column {column.id!r} {reason}"
    for place, row in enumerate(table.rows):
        for reason in _row_faults(table, row):
            yield ("rows", place), f"row {row.id!r} {reason}"


def _mark_faults(table: Table) -> Iterator[Fault]:
    names = dict.fromkeys(name for row in table.rows for name in (row.system, row.id))
    for mark, entry in table.marks.items():
        for name in entry.over:
            if name not in names:
                yield ("marks", mark, "over"), str(unknown("row or system of the table", name, names))


def _figure_faults(figure: Figure) -> Iterator[Fault]:
    for name in ("panel", "line", "exhibit"):
        yield from repetitions(name, getattr(figure, f"{name}s"), (f"{name}s",))
    texts = [f"{point:g}" for point in figure.points]  # by which cells are named
    for place, text in enumerate(texts):
        if text in texts[:place]:
            yield ("points", place), f"point {text} occurs twice, to six digits, as cells are named by it"
    for place, line in enumerate(figure.lines):
        if line.over and not figure.points:
            yield ("lines", place), f"line {line.id!r} varies {line.over!r}, and the figure has no `points`"


def _column_faults(table: Table, column: Column) -> Iterator[str]:
    for part in column.mean_of:
        if part not in {c.id for c in table.columns}:
            yield f"averages {part!r}, which the table does not have"
    if column.id in column.mean_of:
        yield "averages itself"
    if len(set(column.mean_of)) < len(column.mean_of):
        yield f"averages a column twice: {', '.join(column.mean_of)}"
    if column.mean_of:
        if column.dataset:
            yield "has a dataset and averages others; keep one of the two"
    elif bool(column.dataset) != bool(column.measure):
        has, lacks = ("dataset", "measure") if column.dataset else ("measure", "dataset")
        yield f"has a {has} and no {lacks}, so that nothing would be measured; give both"


def _unit_faults(table: Table, place: int) -> Iterator[str]:
    """Numbers of a column that its unit cannot have, or that are all fractions where it is percent."""
    unit = table.columns[place].unit or table.unit
    if table.kind != "results" or unit not in SHARES:
        return
    values = [parse(row.cells[place]).value for row in table.rows if len(row.cells) > place]
    magnitudes = [abs(value) for value in values if value is not None]
    if magnitudes and max(magnitudes) > SHARES[unit]:
        yield f"has the number {max(magnitudes)}, and its unit is {unit}, which ends at {SHARES[unit]}"
    if unit == "percent" and len(magnitudes) > 1 and 0 < max(magnitudes) <= 1:
        yield "has no number above 1, and its unit is percent; give `unit: fraction`"


def _row_faults(table: Table, row: Row) -> Iterator[str]:
    if len(row.printed(table)) != len(table.columns):
        yield f"has {len(row.cells)} cells, the table has {len(table.columns)} columns"
    if row.group is not None and row.group not in {g.id for g in table.groups}:
        yield f"names group {row.group!r}, which the table does not have"
    if row.delta_from is not None and row.delta_from not in {other.id for other in table.rows} - {row.id}:
        yield f"is compared with {row.delta_from!r}, which is no other row of the table"
    if row.recipe and row.not_measurable:
        yield "has a recipe and says why it cannot be measured; keep one of the two"
    if row.with_ and not (row.recipe or any(column.recipe for column in table.columns)):
        yield "has options and no recipe that takes them; give `recipe` or leave `with` out"
    yield from _cell_faults(table, row)
    for column in sorted({*row.roles, *row.grades, *row.measures} - {c.id for c in table.columns}):
        yield f"names column {column!r}, which the table does not have"


def _cell_faults(table: Table, row: Row) -> Iterator[str]:
    for text in row.cells:
        if table.kind == "results" and parse(text).is_garbled:
            yield f"has {text!r}, which is neither a number, with marks and bold, nor a dash, nor words"
        for mark in dict.fromkeys(parse(text).marks):
            if mark not in table.marks:
                yield f"marks {text!r} with {mark!r}, whose meaning the table's marks do not state"
