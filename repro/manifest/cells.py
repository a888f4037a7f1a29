"""Cells of papers' tables, e.g. ``PAPER/1/ROW/COLUMN``."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from html import escape
from itertools import filterfalse
from typing import TypeVar

from repro.errors import UsageError, unknown
from repro.manifest import printed
from repro.manifest.papers import Paper, paper, sources
from repro.manifest.schema import Column, Exhibit, Figure, Row, Table

Part = TypeVar("Part", Table, Figure)
COUNTED = {
    "published": "published cell{s}",
    "point": "point{s} of figures",
    "reference": "cell{s} of reference rows",
    "study": "cell{s} of the suite's own study",
}


def fields_as_html(fields: Mapping[str, object]) -> str:
    rows = [
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in fields.items()
        if value not in (None, "", [])
    ]
    return f"<table>{''.join(rows)}</table>"


@dataclass(frozen=True)
class Cell:
    """One printed cell, named by its path ``paper/table/row/column``.

    Example:
        >>> repro.cell("PAPER/1/ROW/COLUMN").printed.bold
    """

    paper: Paper
    table: Table
    row: Row
    column: Column
    text: str

    @cached_property
    def id(self) -> str:
        return f"{self.paper.name}/{self.table.id}/{self.row.id}/{self.column.id}"

    @property
    def row_path(self) -> str:
        return self.id.rpartition("/")[0]

    @cached_property
    def printed(self) -> printed.PublishedCell:
        return printed.parse(self.text)

    @property
    def number(self) -> Decimal:
        """The published number as printed, e.g. 41.2 for a percentage."""
        return self.printed.number

    @property
    def percent(self) -> Decimal:
        """The published number in per cent, e.g. 18.7 for the fraction .187."""
        return printed.percent(self.number, self.unit)

    @property
    def rounding(self) -> Decimal:
        """Half a unit of the last decimal, in per cent."""
        return printed.percent(printed.half_unit(self.printed.decimals), self.unit)

    def equals(self, value: Decimal) -> bool:
        """Return whether a value and the published number agree at the fewer decimals of the two."""
        coarser = min(printed.decimals_of(value), self.printed.decimals)
        return abs(value - self.number) <= printed.half_unit(coarser)

    @property
    def is_numeric(self) -> bool:
        return self.printed.value is not None

    @property
    def decimals(self) -> int:
        """The most frequent number of decimals of the column."""
        place = [c.id for c in self.table.columns].index(self.column.id)
        texts = [row.cells[place] for row in self.table.rows if row.cells]
        counts = Counter(cell.decimals for cell in map(printed.parse, texts) if cell.value is not None)
        return counts.most_common(1)[0][0] if counts else self.table.decimals

    @property
    def is_unpublished(self) -> bool:
        """Whether the cell belongs to a study, a figure or a reference row."""
        return self.table.kind in ("figure", "study") or self.row.role == "reference"

    @property
    def is_setting(self) -> bool:
        """Whether the cell contains a setting, e.g. a batch size."""
        return self.table.kind == "hyperparameters"

    @property
    def counted_as(self) -> str | None:
        """The cell's key in ``COUNTED``, or None for a setting or a text."""
        if self.table.kind in ("study", "figure"):
            return "study" if self.table.kind == "study" or self.paper.manifest.is_study else "point"
        if self.row.role == "reference":
            return "reference"
        return "published" if self.table.kind == "results" and self.is_numeric else None

    @property
    def role(self) -> str:
        """The origin of the number, e.g. "cited"."""
        marks = self.table.marks
        mark_roles = [marks[mark].role for mark in self.printed.marks if mark in marks]
        return next(filter(None, [self.row.roles.get(self.column.id), *mark_roles]), self.row.role)

    @property
    def grade(self) -> str:
        """The public evidence: A (authors' run), B (authors' checkpoint), P (by others), C (a mean only)."""
        return self.row.grades.get(self.column.id) or self.column.grade or self.row.grade

    @property
    def unit(self) -> str:
        return self.column.unit or self.table.unit

    @property
    def smaller_is_better(self) -> bool:
        return self.column.kind == "index-size" or self.unit == "GB"

    @property
    def recipe(self) -> str | None:
        return self.column.recipe or self.row.recipe

    @property
    def options(self) -> dict:
        return {**self.row.with_, **self.column.with_}

    def _repr_html_(self) -> str:
        return fields_as_html(self.as_json())

    def as_json(self) -> dict:
        """Return the object that ``repro show cells --format json`` prints."""
        p = self.printed
        return {
            "id": self.id,
            "paper": self.paper.name,
            "table": self.table.id,
            "group": self.row.group,
            "row": self.row.id,
            "label": self.row.label,
            "column": self.column.id,
            "head": list(self.column.head),
            "dataset": self.column.dataset,
            "measure": self.column.measure,
            "printed": self.text,
            "value": None if p.value is None else float(p.value),
            "decimals": None if p.value is None else p.decimals,
            "unit": self.unit,
            "bold": None if self.table.bold == "unknown" else p.bold,
            "marks": p.marks,
            "delta": None if p.delta is None else float(p.delta),
            "role": self.role,
            "grade": self.grade,
            "kind": self.column.kind if self.table.kind == "results" else self.table.kind,
            "recipe": self.recipe,
        }


def cells_of(source: Paper, tables: tuple[Table, ...] | None = None) -> list[Cell]:
    """Return the cells of a paper's ``tables``, by default of all, in printed order."""
    selected_tables = source.manifest.tables if tables is None else tables
    return [cell for table in selected_tables for cell in _table_cells(source, table)]


def _table_cells(source: Paper, table: Table) -> tuple[Cell, ...]:
    cells = (
        Cell(source, table, row, row.own(column), text)
        for row in table.rows
        for column, text in zip(table.columns, row.printed(table), strict=True)
    )
    return source.once(table, lambda: tuple(cells))


def numeric_cells(source: Paper) -> list[Cell]:
    """Return the published numbers of a paper's result tables."""
    return [c for c in cells_of(source) if c.counted_as == "published"]


def by_count(cells: Iterable[Cell]) -> dict[str, dict[str, Cell]]:
    """Group measurable cells: key of ``COUNTED`` -> id -> cell. Omits empty groups."""
    kinds: dict[str, dict[str, Cell]] = {kind: {} for kind in COUNTED}
    for c in cells:
        if kind := c.counted_as:
            kinds[kind][c.id] = c
    return {kind: chosen for kind, chosen in kinds.items() if chosen}


def count_in_words(cells: Iterable[Cell], *, measured: Container[str] | None = None, scale: str = "") -> str:
    """Count cells in words, e.g. "52 of 58 published cells measured at tiny". ``measured`` are ids."""
    phrases: list[str] = []
    for kind, chosen in by_count(cells).items():
        phrase = f"{len(chosen)} {COUNTED[kind].format(s='s' * (len(chosen) != 1))}"
        if measured is not None:
            phrase = f"{sum(name in measured for name in chosen)} of {phrase}"
            phrase += "" if phrases else f" measured at {scale}"
        phrases.append(phrase)
    return ", and ".join(filter(None, (*phrases[:1], ", ".join(phrases[1:])))) or "no cells"


def cell(identifier: str) -> Cell:
    """Return the cell named ``paper/table/row/column``. Raises UsageError.

    Example:
        >>> repro.cell("PAPER/1/ROW/COLUMN").number
    """
    parts = identifier.split("/")
    if len(parts) != 4:
        raise UsageError(f"{identifier!r} is not the name of a cell. A cell is named PAPER/TABLE/ROW/COLUMN.")
    source = paper(parts[0])
    return cell_of(source, table_of(source, parts[1]), *parts[2:])


def cell_of(source: Paper, table: Table, row: str, column: str) -> Cell:
    """Return the cell of a table by the ids of its row and column. Raises UsageError."""
    rows, columns = ([part.id for part in parts] for parts in (table.rows, table.columns))
    for kind, name, known in (("row", row, rows), ("column", column, columns)):
        if name not in known:
            place = f"{source.name}/{table.id}"
            raise unknown(kind, name, known, owner=place, hint=f"`repro show {place}` shows the table.")
    return _table_cells(source, table)[rows.index(row) * len(columns) + columns.index(column)]


def table_of(source: Paper, identifier: str) -> Table:
    """Return a paper's table or measured figure. Raises UsageError."""
    for table in figure_tables(source):
        if table.id == str(identifier):
            return table
    return _part_of(source, "table", source.manifest.tables, identifier)


def _part_of(source: Paper, kind: str, parts: Sequence[Part], identifier: str) -> Part:
    for part in parts:
        if part.id == str(identifier):
            return part
    hint = f"`repro show {source.name}` shows them."
    raise unknown(kind, identifier, [part.id for part in parts], owner=source.name, hint=hint)


def figure_tables(source: Paper) -> tuple[Table, ...]:
    """Return the measured figures as tables with ids such as ``figure-3``."""
    return tuple(figure.as_table for figure in source.manifest.figures if figure.lines)


def every_cell(source: Paper, tables: Iterable[str] = ()) -> list[Cell]:
    """Return the cells of the named tables, or of all tables and measured figures. Raises UsageError."""
    named_tables = tuple(table_of(source, table) for table in tables)
    return cells_of(source, named_tables or (*source.manifest.tables, *figure_tables(source)))


@dataclass(frozen=True, eq=False)
class ShownExhibit:
    paper: Paper
    owner: str
    exhibit: Exhibit

    @property
    def id(self) -> str:
        return f"{self.paper.name}/{self.owner}/{self.exhibit.id}"

    @property
    def recipe(self) -> str:
        return self.exhibit.recipe

    @property
    def options(self) -> dict:
        return dict(self.exhibit.with_)


def exhibits(names: tuple[str, ...], owners: tuple[str, ...] = ()) -> list[ShownExhibit]:
    """Return the exhibits of papers (default: all), optionally only of ``owners``, e.g. ("1", "figure-3")."""
    result = []
    for source in sources(names):
        places = [(t.id, t.exhibits) for t in source.manifest.tables]
        places += [(f"figure-{f.id}", f.exhibits) for f in source.manifest.figures]
        for owner, group in places:
            if not owners or owner in owners:
                result += [ShownExhibit(source, owner, e) for e in group]
    return result


def figure_of(source: Paper, identifier: str) -> Figure:
    return _part_of(source, "figure", source.manifest.figures, identifier)


def select(
    names: tuple[str, ...] = (),
    *,
    tables: tuple[str, ...] = (),
    rows: tuple[str, ...] = (),
    cells: tuple[str, ...] = (),
) -> list[Cell]:
    """Return the selected measurable cells in printed order without duplicates. Raises UsageError.

    Args:
        names: papers, by default all.
        rows: ids with or without the group, e.g. ``bert``.
        cells: full ids, alone or in addition to tables and rows.
    """
    result = list(map(cell, cells))
    if chosen := next(filterfalse(is_measured, result), None):
        raise UsageError(f"{chosen.id} is published as {chosen.text!r}, which is not a measured number")
    if tables or rows or not cells:
        candidates = [c for source in sources(names) for c in every_cell(source, tables)]
        result += _cells_in_rows(candidates, rows, result)
    measured_cells = {c.id: c for c in filter(is_measured, result)}
    if not measured_cells:
        reason = "the selection has no published number that can be measured"
        raise UsageError(f"{reason}. `repro show` prints it, `repro show settings` compares settings.")
    return list(measured_cells.values())


def _cells_in_rows(candidates: list[Cell], rows: tuple[str, ...], selection: list[Cell]) -> list[Cell]:
    matches = [c for c in candidates if not rows or {c.row.id, c.row.system} & set(rows)]
    for row in rows:
        if not any(row in (c.row.id, c.row.system) for c in (*selection, *matches)):
            names = (name for c in candidates if is_measured(c) for name in (c.row.system, c.row.id))
            hint = "`repro show PAPER --table N` shows the rows."
            raise unknown("row", row, dict.fromkeys(names), owner="the selection", hint=hint)
    return matches


def missing_setting(chosen: Cell) -> str:
    """Return the setting that the manifest lacks to measure a cell, e.g. "no recipe (…)", or ""."""
    if chosen.column.not_measurable or chosen.row.not_measurable:
        return ""
    if not (chosen.column.dataset or chosen.column.mean_of):
        return "no dataset and measure (add both to its column)"
    return "" if chosen.recipe else "no recipe (add `recipe` to the row)"


def is_measured(chosen: Cell) -> bool:
    return chosen.counted_as is not None
