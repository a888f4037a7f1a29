"""The shape of cells.yaml; a misspelt key is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from repro.manifest.identified import Identified
from repro.manifest.yaml_file import StrictMapping

Role = Literal["ours", "rerun", "cited", "reference"]
Grade = Literal["A", "B", "C", "P"]
ToleranceClass = Literal["deterministic", "re-encoded", "retrained"]
SHARES = {"fraction": 1, "percent": 100}  # the greatest number of each unit that is a share
ColumnKind = Literal["retrieval", "rerank", "answers", "glue", "index-size", "text"]


class Significance(StrictMapping):
    """The test a caption names."""

    kind: str
    sides: Literal[1, 2] | None = None
    level: float | None = Field(default=None, gt=0, lt=1)
    paired: str | bool | None = None
    note: str = ""


class Mark(StrictMapping):
    """The meaning of a footnote mark: better than some rows, taken from somewhere, a property of the row."""

    means: Literal["significant", "source", "property"]
    over: tuple[str, ...] = ()
    source: str = ""
    role: Role | None = None
    property: str = ""
    note: str = ""


class Column(Identified):
    """One column: which dataset and measure its cells hold, or which columns it averages."""

    head: tuple[str, ...] = ()
    dataset: str | None = None
    measure: str | None = None
    kind: ColumnKind = "retrieval"
    unit: str | None = None
    mean_of: tuple[str, ...] = ()
    recipe: str | None = None
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    grade: Grade | None = None
    not_measurable: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The head in one line; the id where there is none."""
        return " ".join(self.head) or self.id


class Group(Identified):
    """A block of rows under a heading."""

    label: str = ""


class Row(Identified):
    """One system or configuration with its printed cells, in the order of the table's columns."""

    label: str
    cells: tuple[str, ...] = ()
    group: str | None = None
    role: Role = "cited"
    grade: Grade = "C"
    roles: dict[str, Role] = Field(default_factory=dict)
    grades: dict[str, Grade] = Field(default_factory=dict)
    recipe: str | None = None
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    marks: str = ""
    attributes: dict[str, Any] = Field(default_factory=dict)
    measures: dict[str, str] = Field(
        default_factory=dict
    )  # of columns in which its numbers count another thing
    tolerance: ToleranceClass | None = None
    delta_from: str | None = None  # the row of its table that it is compared with, if not the table's own
    not_measurable: str = ""  # why no recipe makes it: what was looked for, or what the suite lacks
    note: str = ""

    def printed(self, table: Table) -> tuple[str, ...]:
        """The strings of its cells, one for every column; dashes where the paper has no such table or row."""
        unpublished = table.kind == "study" or self.role == "reference"
        return self.cells or ("-",) * (len(table.columns) if unpublished else 0)

    def own(self, column: Column) -> Column:
        """A column of the table as this row has it: with the measure that its own number is of."""
        measure = self.measures.get(column.id)
        return column if measure is None else column.model_copy(update={"measure": measure})

    @property
    def system(self) -> str:
        """The id without its group: what marks and ``--row`` may name."""
        prefix = f"{self.group}."
        return self.id.removeprefix(prefix) if self.id.startswith(prefix) else self.id.rpartition(".")[2]


class ExampleRank(StrictMapping):
    """The rank and relevance that one system has in a printed example."""

    system: str
    rank: int | None = None
    relevant: bool | None = None
    note: str = ""


class Example(StrictMapping):
    """One printed example: the query is kept, the passages are not."""

    query: str = ""
    shown: tuple[ExampleRank, ...] = ()
    note: str = ""


class Exhibit(Identified):
    """Something shown rather than tabled: a picture or view that a recipe makes an artefact for."""

    label: str
    recipe: str
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    dataset: str | None = None


class Table(Identified):
    """One printed table. Rows are always systems; ``transposed`` says that the paper has them as columns.

    A table of kind ``study`` is the suite's own: nothing is printed, and its rows may leave ``cells`` out.
    """

    kind: Literal["results", "hyperparameters", "examples", "figure", "study"] = "results"
    about: str
    unit: str = "fraction"
    transposed: bool = False
    bold: Literal["group", "column", "row", "table", "unknown", "none"] = "unknown"
    test: Significance | None = None
    delta_from: str | None = None
    marks: dict[str, Mark] = Field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    groups: tuple[Group, ...] = ()
    rows: tuple[Row, ...] = ()
    entries: tuple[Example, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    decimals: int = 3  # of measured values in a column in which nothing is published
    note: str = ""

    def base_of(self, row: Row) -> str | None:
        """The id of the row that a row is compared with; None for a row that is compared with none."""
        base = row.delta_from or self.delta_from
        return None if base == row.id else base


class Line(Identified):
    """One curve of a figure.

    ``over`` is the option that the x-axis varies, none for a level line; ``method`` names what several lines
    show at several sizes.
    """

    label: str
    method: str = ""
    recipe: str
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    over: str | None = None


class Figure(Identified):
    """One printed figure: what it plots, not the pixels.

    A figure of ``panels`` (columns) and ``lines`` is measured point by point; one of ``exhibits`` is drawn
    from artefacts.
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
    trend: SizeTrend | None = None
    exhibits: tuple[Exhibit, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def _trend_is_of_its_lines(self):
        if self.trend:
            self.trend.check([(line.method, line.with_) for line in self.lines if line.method])
        return self

    @property
    def is_measured(self) -> bool:
        """Whether there are recipes behind it."""
        return bool(self.lines or self.exhibits)

    @cached_property
    def as_table(self) -> Table:
        """The points as cells of a table: a row for every line and place on the x-axis, unpublished."""
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
    """A whole cells.yaml; ``readings_of`` names packages whose readings apply to it too."""

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
        """Whether it is the suite's own study, of which no paper has a number, and no paper's."""
        kinds = {table.kind for table in self.tables}
        return "study" in kinds and "results" not in kinds


Positive = Annotated[float, Field(gt=0)]


class LargerSize(StrictMapping):
    """The larger size that a trend is extrapolated to."""

    x: Positive
    across: Positive


class SizeTrend(StrictMapping):
    """The regression of each method's difference to a reference on the logarithms of two sizes.

    Attributes:
        reference: the method that the others are compared with.
        across: the option of its lines that is the second size, beside the x-axis.
        to: a larger size.
    """

    reference: str
    across: str
    to: LargerSize

    def check(self, lines: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Raise ValueError where the lines, each a method and its options, do not have what this names."""
        methods = dict.fromkeys(method for method, _ in lines)
        if self.reference not in methods:
            names = ", ".join(methods) or "none"
            raise ValueError(f"trend: {self.reference!r} is the method of no line ({names})")
        missing = [method for method, options in lines if self.across not in options]
        if missing:
            raise ValueError(f"trend: a line of {missing[0]} has no option {self.across!r}")
