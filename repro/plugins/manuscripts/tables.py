"""Tables as they are in the source of a paper: cells, marks, places, before anybody says what they mean."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from repro.errors import DataError

MOST_CELLS = 100_000  # of one table; the widest of a paper has a tenth of it


@dataclass(frozen=True)
class Place:
    """A line of a file; lines count from 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class SourceCell:
    """One cell as it is written.

    Attributes:
        text: what a reader of the paper sees, without styles and marks: ``36.6``, ``BM25``, ``-``.
        marks: superscripts, daggers and letters behind or before it, each by itself: ``("†", "*")``.
        source: what stands in the file, unchanged.
        columns, rows: over how many columns and rows it goes; a cell that does is the same object in each.
    """

    text: str
    place: Place
    source: str = ""
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    marks: tuple[str, ...] = ()
    columns: int = 1
    rows: int = 1


@dataclass(frozen=True)
class SourceTable:
    """A rectangular table: a row has as many cells as there are columns.

    Attributes:
        head: rows above the values: names of collections, measures.
        body: rows of values, and of labels that go over the whole width (groups).
        rules: numbers of rows of the body above which a line is drawn.
        caption, label: of the float around it; only read, never copied.
        number: as the text prints it, ``3`` or ``3a``; empty without one, and for a figure.
        legend: what the float says beside caption and cells: notes under the table, footnotes of cells.
        notes: what could not be read, a sentence each with its place: an unknown macro, a ragged row.
    """

    place: Place
    head: tuple[tuple[SourceCell, ...], ...]
    body: tuple[tuple[SourceCell, ...], ...]
    rules: frozenset[int] = frozenset()
    caption: str = ""
    label: str = ""
    number: str = ""
    legend: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def width(self) -> int:
        """The number of columns."""
        return max((len(row) for row in (*self.head, *self.body)), default=0)


@dataclass(frozen=True)
class Manuscript:
    """A source read whole.

    Attributes:
        path: what was named: a file, a folder or an archive.
        tables: in the order of the text; two that stand side by side or above each other are two.
        prose: paragraphs outside of tables with their places, for sentences that quote a cell.
        labels: label of a float -> its number in the text, as ``\\ref`` prints it.
        notes: what could not be read, a sentence each.
    """

    path: Path
    tables: tuple[SourceTable, ...]
    prose: tuple[tuple[Place, str], ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def check_size(cells: int, where: Place | Path) -> None:
    """Raise a DataError for more cells than any table of a paper has."""
    if cells > MOST_CELLS:
        raise DataError(f"{where}: is a table of more than {MOST_CELLS:,} cells, of no paper")
