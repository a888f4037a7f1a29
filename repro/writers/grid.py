"""Rows and columns of a table in the paper's orientation, and texts of its cells, e.g. "(33.1)"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Generic, Self, TypeVar

from repro.graph import grouped
from repro.hooks import CellNote
from repro.manifest.cells import Cell
from repro.manifest.printed import decimals_of, half_up
from repro.manifest.schema import Column, Mark, Row, Table
from repro.verdicts.compared import ComparedCell, Comparison, ImportedRun

T = TypeVar("T")
ROLES = {
    "ours": "the authors' own",
    "rerun": "run again by the authors",
    "cited": "cited by the authors",
    "reference": "a reference row that is not in the paper",
}
SUPERSCRIPTS = (
    "Superscripts mark rows that this row significantly outperforms (one seed, paired two-sided t-test over"
    " queries by ranx, p ≤ .05, Holm-corrected per row and column)."
)
LETTERS = "abcdefghijklmnoprstuvwxyz"  # Unicode has no raised q, which a terminal would need
RAISED = str.maketrans(f"{LETTERS}0123456789-", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class Head:
    """The head of a row or column.

    ``last`` is the label below ``heading``, which neighbours may share.
    """

    id: str
    label: str
    last: str
    heading: str = ""
    row: Row | None = None

    @property
    def marks(self) -> str:
        return self.row.marks if self.row else ""


@dataclass(frozen=True)
class Grid(Generic[T]):
    """The rows and columns of a table that have a cell. ``cells`` are by row and column id."""

    table: Table
    rows: Sequence[Row]
    columns: Sequence[Column]
    cells: Mapping[tuple[str, str], T]

    @classmethod
    def of(cls, table: Table, cells: Mapping[tuple[str, str], T]) -> Self:
        """Return the grid of the rows and columns that have one of these cells."""
        row_ids, column_ids = {row for row, _ in cells}, {column for _, column in cells}
        rows = [row for row in table.rows if row.id in row_ids]
        return cls(table, rows, [column for column in table.columns if column.id in column_ids], cells)

    @property
    def down(self) -> list[Head]:
        if self.table.transposed:
            return column_heads(self.columns)
        groups = {group.id: group.label for group in self.table.groups}
        return [Head(r.id, r.label, r.label, groups.get(r.group or "", ""), r) for r in self.rows]

    @property
    def across(self) -> list[Head]:
        if self.table.transposed:
            return [Head(r.id, r.label, r.label, "", r) for r in self.rows]
        return column_heads(self.columns)

    @property
    def blocks(self) -> Iterator[tuple[str, list[Head]]]:
        for heading, heads in groupby(self.down, key=lambda head: head.heading if head.row else ""):
            yield heading, list(heads)

    def line(self, down: Head) -> list[T | None]:
        places = ((down.id, a.id) if down.row else (a.id, down.id) for a in self.across)
        return [self.cells.get(place) for place in places]

    @property
    def letters(self) -> dict[str, str]:
        """Row id -> its superscript, e.g. "b", or a number for many rows."""
        rows = self.table.rows
        few = len(rows) <= len(LETTERS)
        return {row.id: LETTERS[i] if few else str(i + 1) for i, row in enumerate(rows)}


def superscript(c: ComparedCell, comparison: Comparison, grid: Grid[ComparedCell], *, between: str) -> str:
    """Return the superscript that names the rows that a cell's row significantly outperforms, or "".

    ``between`` separates its parts if one is a range or a number.
    """
    shown_rows = {row.id for row in grid.rows}
    rows = [] if c.outdated else [row for row in comparison.betters(c) if row in shown_rows]
    letters = grid.letters
    parts = letter_ranges([letters[row] for row in rows], [*letters.values()])
    return ("" if all(part in LETTERS for part in parts) else between).join(parts)


def compared_grid(cells: Sequence[ComparedCell]) -> Grid[ComparedCell]:
    return Grid.of(cells[0].cell.table, {(c.cell.row.id, c.cell.column.id): c for c in cells})


def column_heads(columns: Sequence[Column]) -> list[Head]:
    return [Head(c.id, c.label, c.head[-1] if c.head else c.id, " ".join(c.head[:-1])) for c in columns]


def spans(heads: Sequence[Head]) -> list[tuple[str, int]]:
    """Return pairs of a heading and its number of columns, or [] without headings."""
    if not any(head.heading for head in heads):
        return []
    return [(heading, len(list(group))) for heading, group in groupby(heads, key=lambda head: head.heading)]


def rounded(value: float, cell: Cell) -> str:
    """Round a value half up to the decimals of the published number or the column."""
    decimals = cell.printed.decimals if cell.printed.value is not None else cell.decimals
    return str(half_up(Decimal(repr(value)), decimals or 0))


def shown_measurement(c: ComparedCell) -> str | None:
    """Return the measured value, in brackets if in doubt, e.g. "(33.1)", or None without one."""
    if c.measured is None:
        return None
    value = rounded(c.measured, c.cell)
    return f"({value})" if c.doubts else value


def shown_run(run: ImportedRun, cell: Cell) -> str:
    """Return the score of a run by others, in brackets if in doubt."""
    value = rounded(run.measured, cell)
    return f"({value})" if run.doubts else value


STATED = "reported elsewhere"


def shown_note(note: CellNote, cell: Cell) -> str:
    """Return a value reported elsewhere, with at most one more decimal than published."""
    most = (cell.printed.decimals or 0) + 1
    return note.text if decimals_of(note.value) <= most else f"{half_up(note.value, most):f}"


def span(notes: Sequence[CellNote], cell: Cell) -> str:
    """Return the range of values reported elsewhere, e.g. "31.0 to 33.2"."""
    ends = (choose(notes, key=lambda note: note.value) for choose in (min, max))
    return " to ".join(dict.fromkeys(shown_note(note, cell) for note in ends))


def best_measured(grid: Grid[ComparedCell]) -> frozenset[tuple[str, str]]:
    """Return (row, column) of the best number per column, or per column and group if the paper does so."""
    cells = [c for c in grid.cells.values() if c.records and not c.outdated]
    by_group = grid.table.bold == "group"
    blocks = grouped(((c.cell.column.id, by_group and c.cell.row.group), c) for c in cells)
    return frozenset(place for cells in blocks.values() if len(cells) > 1 for place in _best_places(cells))


def _best_places(cells: Sequence[ComparedCell]) -> set[tuple[str, str]]:
    values = {(c.cell.row.id, c.cell.column.id): Decimal(rounded(c.measured or 0.0, c.cell)) for c in cells}
    best = (min if cells[0].cell.smaller_is_better else max)(values.values())
    return {place for place, value in values.items() if value == best}


def letter_ranges(chosen: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return the ``chosen`` superscripts, with three or more neighbours in ``order`` as a range ``b-d``."""
    places = sorted(map(order.index, chosen))
    parts: list[str] = []
    for _, neighbours in groupby(enumerate(places), key=lambda item: item[1] - item[0]):
        letters = [order[place] for _, place in neighbours]
        parts += letters if len(letters) < 3 else [f"{letters[0]}-{letters[-1]}"]
    return parts


def label_in_full(table: Table, row: Row) -> str:
    """Return the row's label. If rows share it, add the group's label, or return the row's id."""
    if sum(other.label == row.label for other in table.rows) == 1:
        return row.label
    group = next((g.label for g in table.groups if g.id == row.group), row.group)
    return f"{row.label} ({group})" if group else row.id


def meaning(mark: Mark) -> str:
    if mark.means == "significant":
        return f"better than {', '.join(mark.over)} by the test of the caption"
    return " ".join(part for part in (mark.source or mark.property, mark.note) if part)


def capitalised(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def probability(p: float | None) -> str:
    """Return a p-value, e.g. "0.0312", or a dash for None."""
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"
