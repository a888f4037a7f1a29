"""The layout of a table: which columns hold labels and values, and which rows are headings of groups."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from repro.manifest.printed import DASHES
from repro.plugins.manuscripts.tables import SourceCell, SourceTable

_NUMBER = re.compile(r"[<>≤≥~]?\s*[-+−–±]?\s*\.?\d[\d,]*\.?\d*\s*%?(?![A-Za-z])")
Row = tuple[SourceCell, ...]


@dataclass(frozen=True)
class Layout:
    """A table with the places of its labels and values.

    Attributes:
        labels: numbers of the columns that name a row, the outermost first.
        values: numbers of the columns of numbers; what is neither describes a row in words or ticks.
        rows: numbers of the rows of the body that hold values.
        groups: for each of ``rows``, the heading it stands under; "" without one.
    """

    table: SourceTable
    labels: tuple[int, ...]
    values: tuple[int, ...]
    rows: tuple[int, ...]
    groups: tuple[str, ...]

    def label(self, row: int) -> str:
        """Return what names a row of the body, without its group."""
        texts = [self.table.body[row][place].text.strip() for place in self.labels]
        return next(filter(None, reversed(texts)), "")

    def head(self, column: int) -> tuple[str, ...]:
        """Return the texts above a column, the outermost first, each cell once."""
        cells = {id(row[column]): row[column] for row in self.table.head if column < len(row)}
        return tuple(dict.fromkeys(text for cell in cells.values() if (text := cell.text.strip())))

    @property
    def corner(self) -> str:
        """Return what stands above the labels."""
        return " ".join(text for place in self.labels for text in self.head(place))


def is_number(cell: SourceCell) -> bool:
    """Return whether a cell begins with a number, as a value with marks or a difference behind it does."""
    return _NUMBER.match(cell.text.strip()) is not None


def is_dash(cell: SourceCell) -> bool:
    """Return whether a cell says that there is no value."""
    return cell.text.strip() in DASHES


def layout(table: SourceTable, is_heading: Callable[[str], object] = lambda text: False) -> Layout:
    """Return where labels and values of a table stand.

    Args:
        is_heading: whether a text names a measure, as the head of a first column without labels does.
    """
    rows, groups = _grouped(table.body)
    body = [table.body[number] for number in rows]
    bare = Layout(table, (), (), rows, groups)
    first = 0 if is_heading(" ".join(bare.head(0))) else 1
    values = tuple(p for p in range(first, table.width) if _holds_numbers([row[p] for row in body]))
    labels = () if 0 in values else (0, 1)[: 1 + _has_blocks(body, values)]
    if len(labels) > 1:
        blocks = _blocks([row[0].text.strip() for row in body])
        groups = tuple(" / ".join(filter(None, pair)) for pair in zip(groups, blocks, strict=True))
    return Layout(table, labels, values, rows, groups)


def _grouped(body: Sequence[Row]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the numbers of the rows of values, and the heading that each stands under."""
    rows, groups, current = [], [], ""
    for number, row in enumerate(body):
        texts = {id(cell): cell.text.strip() for cell in row if cell.text.strip()}
        heading = next(iter(texts.values()), "")
        if len(texts) < 2 and len(row) > 1 and not _NUMBER.match(heading):
            current = heading
        else:
            rows.append(number)
            groups.append(current)
    return tuple(rows), tuple(groups)


def transposed(table: SourceTable) -> SourceTable:
    """Return the table with rows for columns: headings become labels, and labels become headings.

    Headings of groups stand above the columns that their rows become.
    """
    plan = layout(table)
    depth = max(len(plan.labels), 1)
    grouped = any(plan.groups)
    grid: list[Row] = [*table.head, *(table.body[number] for number in plan.rows)]
    columns = list(zip(*grid, strict=True))
    if grouped:
        blank = SourceCell("", table.place)
        tops = {text: SourceCell(text, table.place) for text in plan.groups}
        above = (*[blank] * len(table.head), *(tops[text] for text in plan.groups))
        columns, depth = [above, *columns], depth + 1
    return replace(table, head=tuple(columns[:depth]), body=tuple(columns[depth:]), rules=frozenset())


def _holds_numbers(cells: Sequence[SourceCell]) -> bool:
    said = [cell for cell in cells if not is_dash(cell)]
    return 2 * sum(map(is_number, said)) >= max(len(said), 1) or (not said and bool(cells))


def _has_blocks(body: Sequence[Row], values: Sequence[int]) -> bool:
    """Return whether the first column's cells each stand for several rows, which the second one names."""
    if 1 in values or not body or len(body[0]) < 2:
        return False
    blank = sum(not row[0].text.strip() for row in body)
    return any(row[0].rows > 1 for row in body) or 2 * blank >= len(body)


def _blocks(texts: Sequence[str]) -> list[str]:
    """Return the text that each row stands under, where a text counts until the next one."""
    blocks, current = [], ""
    for text in texts:
        current = text or current
        blocks.append(current)
    return blocks
