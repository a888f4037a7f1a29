"""Papers and tables as published, e.g. ``table("PAPER/1").to_frame()``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro.api import Listing
from repro.errors import UsageError
from repro.manifest import reading_schema, schema
from repro.manifest.cells import Cell, cell_of, cells_of, numeric_cells, table_of
from repro.manifest.papers import Paper
from repro.manifest.papers import paper as paper_at_hand
from repro.manifest.papers import papers as papers_at_hand

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class PublishedTable:
    """A table as printed. ``content`` is its transcription with marks and groups.

    Example:
        >>> repro.table("PAPER/1").cell("ROW", "COLUMN").number
    """

    source: Paper
    content: schema.Table

    @property
    def name(self) -> str:
        """``PAPER/NUMBER``."""
        return f"{self.source.name}/{self.content.id}"

    @property
    def about(self) -> str:
        """The subject, paraphrased from the caption."""
        return self.content.about

    @property
    def rows(self) -> dict[str, str]:
        """Row id -> label."""
        return {row.id: row.label for row in self.content.rows}

    @property
    def columns(self) -> dict[str, str]:
        """Column id -> head."""
        return {c.id: c.label for c in self.content.columns}

    @property
    def cells(self) -> Listing[Cell]:
        """All cells in order, including dashes and words."""
        return _cell_listing(cells_of(self.source, (self.content,)))

    def _repr_html_(self) -> str:
        from repro.writers.html.tables import table

        return table(self.source, self.content, ())

    def cell(self, row: str, column: str) -> Cell:
        """Return a cell by row and column id. Raises UsageError for an unknown one."""
        return cell_of(self.source, self.content, row, column)

    def to_frame(self) -> pandas.DataFrame:
        """Return the published numbers by row and column label. Dashes and words are NaN."""
        import pandas

        from repro.writers.grid import label_in_full

        labels = {row.id: label_in_full(self.content, row) for row in self.content.rows}
        frame = pandas.DataFrame(index=list(labels), columns=list(self.columns), dtype=float)
        for c in self.cells:
            frame.loc[c.row.id, c.column.id] = (
                float("nan") if c.printed.value is None else float(c.printed.value)
            )
        return frame.rename(index=labels, columns=self.columns)


@dataclass(frozen=True)
class PublishedPaper:
    """A paper with its tables and unspecified choices. ``source`` is its manifest.

    Example:
        >>> repro.paper("PAPER").readings
    """

    source: Paper

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def title(self) -> str:
        return self.source.manifest.title

    @property
    def tables(self) -> dict[str, PublishedTable]:
        """Table number -> table."""
        return {table.id: PublishedTable(self.source, table) for table in self.source.manifest.tables}

    @property
    def cells(self) -> Listing[Cell]:
        """The numeric cells of the result tables."""
        return _cell_listing(numeric_cells(self.source))

    @property
    def readings(self) -> dict[str, reading_schema.Reading]:
        """The unspecified choices by id."""
        return self.source.readings

    def table(self, number: str | int) -> PublishedTable:
        """Return a table or measured figure (``figure-4``). Raises UsageError for an unknown one."""
        return PublishedTable(self.source, table_of(self.source, str(number)))

    def to_frame(self) -> pandas.DataFrame:
        """Return ``cells`` as a frame."""
        return self.cells.to_frame()


def papers() -> dict[str, PublishedPaper]:
    """Return all papers by name, also those of installed packages.

    Example:
        >>> list(repro.papers())
    """
    return {name: PublishedPaper(source) for name, source in papers_at_hand().items()}


def paper(name: str) -> PublishedPaper:
    """Return a paper. Raises UsageError for an unknown one.

    Example:
        >>> repro.paper("PAPER")
    """
    return PublishedPaper(paper_at_hand(name))


def table(name: str) -> PublishedTable:
    """Return the table ``PAPER/NUMBER``. Raises UsageError for an unknown one.

    Example:
        >>> repro.table("PAPER/1").to_frame()
    """
    owner, slash, number = name.partition("/")
    if not slash:
        raise UsageError(f"{name!r} is not the name of a table. A table is named PAPER/NUMBER.")
    return paper(owner).table(number)


def _cell_listing(cells: list[Cell]) -> Listing[Cell]:
    return Listing(cells, line=Cell.as_json, index="id")
