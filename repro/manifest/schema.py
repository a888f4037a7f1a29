"""The schema of cells.yaml and its checks across fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from repro.errors import unknown
from repro.manifest.printed import parse
from repro.manifest.yaml_file import Fault, Identified, StrictMapping, repetitions

Role = Literal["ours", "rerun", "cited", "reference"]
Grade = Literal["A", "B", "C", "P"]
ToleranceClass = Literal["deterministic", "re-encoded", "retrained"]
SHARES = {"fraction": 1, "percent": 100}  # unit of a share -> its greatest number
OPTIONS: Any = Field(default_factory=dict, alias="with")
ColumnKind = Literal["retrieval", "rerank", "answers", "glue", "index-size", "text"]


class Significance(StrictMapping):
    kind: str
    sides: Literal[1, 2] | None = None
    level: float | None = Field(default=None, gt=0, lt=1)
    paired: str | bool | None = None
    note: str = ""


class Mark(StrictMapping):
    means: Literal["significant", "source", "property"]
    over: tuple[str, ...] = ()
    source: str = ""
    role: Role | None = None
    property: str = ""
    note: str = ""


class Column(Identified):
    """A column's dataset and measure, or the averaged columns."""

    head: tuple[str, ...] = ()
    dataset: str | None = None
    measure: str | None = None
    kind: ColumnKind = "retrieval"
    unit: str | None = None
    mean_of: tuple[str, ...] = ()
    recipe: str | None = None
    with_: dict[str, Any] = OPTIONS
    grade: Grade | None = None
    not_measurable: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The head in one line, by default the id."""
        return " ".join(self.head) or self.id


class Group(Identified):
    label: str = ""


class Row(Identified):
    """One system with its printed cells in the order of the columns."""

    label: str
    cells: tuple[str, ...] = ()
    group: str | None = None
    role: Role = "cited"
    grade: Grade = "C"
    roles: dict[str, Role] = Field(default_factory=dict)
    grades: dict[str, Grade] = Field(default_factory=dict)
    recipe: str | None = None
    with_: dict[str, Any] = OPTIONS
    marks: str = ""
    attributes: dict[str, Any] = Field(default_factory=dict)
    measures: dict[str, str] = Field(default_factory=dict)  # column -> the row's own measure
    tolerance: ToleranceClass | None = None
    delta_from: str | None = None
    not_measurable: str = ""
    note: str = ""
    scale_notes: dict[str, str] = Field(default_factory=dict)  # scale -> a note

    def printed(self, table: Table) -> tuple[str, ...]:
        """Return one string per column. Rows without published cells have dashes."""
        unpublished = table.kind == "study" or self.role == "reference"
        return self.cells or ("-",) * (len(table.columns) if unpublished else 0)

    def own(self, column: Column) -> Column:
        """Return the column with this row's own measure, if any."""
        measure = self.measures.get(column.id)
        return column if measure is None else column.model_copy(update={"measure": measure})

    @property
    def system(self) -> str:
        """The id without its group, e.g. ``bert`` for ``dense.bert``."""
        prefix = f"{self.group}."
        return self.id.removeprefix(prefix) if self.id.startswith(prefix) else self.id.rpartition(".")[2]


class ExampleRank(StrictMapping):
    system: str
    rank: int | None = None
    relevant: bool | None = None
    note: str = ""


class Example(StrictMapping):
    """A query printed as an example, with its rank by each system."""

    query: str = ""
    shown: tuple[ExampleRank, ...] = ()
    note: str = ""


class Exhibit(Identified):
    """A drawing or page made from one artefact, e.g. a map, ranked passages or shaded text."""

    label: str
    recipe: str
    with_: dict[str, Any] = OPTIONS
    dataset: str | None = None


class Table(Identified):
    """One table. A ``transposed`` one prints its rows as columns.

    Rows of the suite's own tables (kind ``study``) may omit ``cells``.
    """

    kind: Literal["results", "hyperparameters", "examples", "figure", "study"] = "results"
    about: str
    unit: str = "fraction"
    transposed: bool = False
    bold: Literal["group", "column", "row", "table", "unknown", "none"] = "unknown"
    promises_bold: bool = False
    test: Significance | None = None
    delta_from: str | None = None
    marks: dict[str, Mark] = Field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    groups: tuple[Group, ...] = ()
    rows: tuple[Row, ...] = ()
    entries: tuple[Example, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    decimals: int = 3  # of measured values in a column without published ones
    note: str = ""

    def base_of(self, row: Row) -> str | None:
        """Return the id of the row that ``row`` is compared with, or None."""
        base = row.delta_from or self.delta_from
        return None if base == row.id else base


class Line(Identified):
    """One curve. ``over`` is the option on the x-axis, or None for a horizontal line.

    Lines of one ``method`` differ in the figure's option ``across``, e.g. width.
    """

    label: str
    method: str = ""
    recipe: str
    with_: dict[str, Any] = OPTIONS
    over: str | None = None


class Figure(Identified):
    """One figure, measured point by point (``panels``, ``lines``) or drawn from ``exhibits``.

    ``across`` is an option of its lines with one panel per value, e.g. ``width``.
    """

    kind: Literal["figure"] = "figure"
    about: str
    x: str | None = None
    y: str | None = None
    series: tuple[Any, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    test: Significance | None = None
    panels: tuple[Column, ...] = ()
    lines: tuple[Line, ...] = ()
    points: tuple[int | float, ...] = ()
    unit: str = "fraction"
    across: str = ""
    exhibits: tuple[Exhibit, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def _lines_have_what_panels_are_across(self):
        for line in self.lines:
            if self.across and line.method and self.across not in line.with_:
                raise ValueError(f"across: line {line.label!r} has no option {self.across!r}")
        return self

    @property
    def is_measured(self) -> bool:
        return bool(self.lines or self.exhibits)

    @cached_property
    def as_table(self) -> Table:
        """The points as cells, with a row for each line and x value."""
        rows = [
            Row.model_validate(
                {
                    "id": line.id if x is None else f"{line.id}.{x:g}",
                    "group": line.id,
                    "role": "rerun",
                    "label": line.label if x is None else f"{x:g}",
                    "recipe": line.recipe,
                    "with": line.with_ | ({} if x is None else {line.over: x}),
                    "cells": ("-",) * len(self.panels),
                }
            )
            for line in self.lines
            for x in (self.points if line.over else (None,))
        ]
        return Table(
            id=f"figure-{self.id}",
            kind="figure",
            about=self.about,
            unit=self.unit,
            bold="none",
            columns=self.panels,
            rows=tuple(rows),
            groups=tuple(Group(id=line.id, label=line.label) for line in self.lines),
        )


class Manifest(StrictMapping):
    """The content of a cells.yaml. The paper shares the readings of the packages ``readings_of``."""

    paper: str
    title: str
    authors: tuple[str, ...] = ()
    venue: str = ""
    doi: str | None = None
    arxiv: str | None = None
    code: str | None = None
    readings_of: tuple[str, ...] = ()
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = ()

    @property
    def is_study(self) -> bool:
        kinds = {table.kind for table in self.tables}
        return "study" in kinds and "results" not in kinds


def faults(manifest: Manifest) -> Iterator[Fault]:
    """Yield a manifest's faults, each as its location and a reason."""
    yield from repetitions("table", manifest.tables, ("tables",))
    yield from repetitions("figure", manifest.figures, ("figures",))
    within = [
        ("tables", map(_table_faults, manifest.tables)),
        ("figures", map(_figure_faults, manifest.figures)),
    ]
    for name, groups in within:
        for number, found in enumerate(groups):
            yield from (((name, number, *place), reason) for place, reason in found)


def _table_faults(table: Table) -> Iterator[Fault]:
    for name in ("column", "row", "group", "exhibit"):
        yield from repetitions(name, getattr(table, f"{name}s"), (f"{name}s",))
    if table.delta_from not in {None, *_ids(table.rows)}:
        yield ("delta_from",), f"the table has no row {table.delta_from!r}"
    yield from _mark_faults(table)
    for number, column in enumerate(table.columns):
        for reason in (*_column_faults(table, column), *_unit_faults(table, number)):
            yield ("columns", number), f"column {column.id!r} {reason}"
    for number, row in enumerate(table.rows):
        for reason in _row_faults(table, row):
            yield ("rows", number), f"row {row.id!r} {reason}"


def _mark_faults(table: Table) -> Iterator[Fault]:
    names = dict.fromkeys(name for row in table.rows for name in (row.system, row.id))
    for mark, entry in table.marks.items():
        for name in entry.over:
            if name not in names:
                yield ("marks", mark, "over"), str(unknown("row or system of the table", name, names))


def _ids(parts: Iterable[Identified]) -> set[str]:
    return {part.id for part in parts}


def _figure_faults(figure: Figure) -> Iterator[Fault]:
    for name in ("panel", "line", "exhibit"):
        yield from repetitions(name, getattr(figure, f"{name}s"), (f"{name}s",))
    texts = [f"{point:g}" for point in figure.points]
    for place, text in enumerate(texts):
        if text in texts[:place]:
            yield ("points", place), f"point {text} occurs twice when rounded to six digits"
    for place, line in enumerate(figure.lines):
        if line.over and not figure.points:
            yield ("lines", place), f"line {line.id!r} varies {line.over!r}, and the figure has no `points`"


def _column_faults(table: Table, column: Column) -> Iterator[str]:
    for part in sorted({*column.mean_of} - _ids(table.columns)):
        yield f"averages {part!r}, which the table does not have"
    if column.id in column.mean_of:
        yield "averages itself"
    if len(set(column.mean_of)) < len(column.mean_of):
        yield f"averages a column twice: {', '.join(column.mean_of)}"
    if column.mean_of:
        if column.dataset:
            yield "has both a dataset and `mean_of`. Keep one of the two."
    elif bool(column.dataset) != bool(column.measure):
        has, lacks = ("dataset", "measure") if column.dataset else ("measure", "dataset")
        yield f"has a {has}, but no {lacks}. Give both."


def _unit_faults(table: Table, place: int) -> Iterator[str]:
    unit = table.columns[place].unit or table.unit
    if table.kind != "results" or unit not in SHARES:
        return
    values = (parse(row.cells[place]).value for row in table.rows if len(row.cells) > place)
    magnitudes = [abs(value) for value in values if value is not None]
    largest = max(magnitudes, default=0)
    if largest > SHARES[unit]:
        yield f"has the number {largest}, but its unit {unit} allows at most {SHARES[unit]}"
    if len(magnitudes) > 1 and unit == "percent" and 0 < largest <= 1:
        yield "has no number above 1, but the unit percent. Set `unit: fraction`."


def _row_faults(table: Table, row: Row) -> Iterator[str]:
    if len(row.printed(table)) != len(table.columns):
        yield f"has {len(row.cells)} cells, the table has {len(table.columns)} columns"
    if row.group not in {None, *_ids(table.groups)}:
        yield f"names group {row.group!r}, which the table does not have"
    if row.delta_from not in {None, *_ids(table.rows)} - {row.id}:
        yield f"is compared with {row.delta_from!r}, which is not another row of the table"
    if row.recipe and row.not_measurable:
        yield "has both a recipe and `not_measurable`. Keep one of the two."
    if row.with_ and not any([row.recipe, *(c.recipe for c in table.columns)]):
        yield "has options, but no recipe for them. Add `recipe` or remove `with`."
    for column in sorted({*row.roles, *row.grades, *row.measures} - _ids(table.columns)):
        yield f"names column {column!r}, which the table does not have"
    yield from _cell_faults(table, row)


def _cell_faults(table: Table, row: Row) -> Iterator[str]:
    for text in row.cells:
        if table.kind == "results" and parse(text).is_garbled:
            yield f"has {text!r}, which is neither a number nor a dash nor words"
        for mark in dict.fromkeys(parse(text).marks):
            if mark not in table.marks:
                yield f"marks {text!r} with {mark!r}, which the table's `marks` do not explain"
