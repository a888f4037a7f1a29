"""Tables on a terminal of any width, e.g. 80 columns, without hidden columns or broken words.

The columns of a wide table of numbers continue below. A wide table with texts becomes "name: text" lines.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from repro.errors import visible

GAP = 2
LABEL = 20  # narrower texts are not wrapped
UNLIMITED = 10_000  # the width of other outputs
LINE = 120  # where these wrap texts


@dataclass(frozen=True)
class Column:
    """A column's name, and the heading it shares with neighbours. ``right`` aligns numbers."""

    name: str
    heading: str = ""
    right: bool = True


@dataclass(frozen=True)
class Value:
    """A number with a left-aligned suffix, e.g. "33.1" and its superscript."""

    number: Text
    after: Text


Cell = Text | Value
_Columns = Sequence["_MeasuredColumn"]


@dataclass
class Sheet:
    """Columns and rows. A ``Text`` as a row is a heading. ``multiline`` keeps line breaks in cells."""

    columns: list[Column]
    rows: list[Sequence[Cell] | Text] = field(default_factory=list)
    multiline: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines, as wide as the console if possible."""
        columns, width = self._measured_columns(), options.max_width
        has_texts = not all(column.right for column in self.columns[1:])
        if has_texts and _total_width(_least_widths(columns)) > width:
            title = next(column for column in columns if column.column.name)
            yield Text(title.column.name, style="dim")
            for row in self.rows:
                yield Text()
                yield from [row] if isinstance(row, Text) else _stacked(console, columns, row, width, title)
        else:
            for part in _parts(columns, width):
                yield Text()
                yield from self._lines(console, part, _widths(part, width if width < UNLIMITED else LINE))

    def _measured_columns(self) -> list["_MeasuredColumn"]:
        for text in _texts(self.rows):
            parts = text.plain.split("\n") if self.multiline else [text.plain]
            text.plain = "\n".join(map(visible, parts))
        rows = [row for row in self.rows if not isinstance(row, Text)]
        return [_MeasuredColumn.of(c, [row[n] for row in rows], place=n) for n, c in enumerate(self.columns)]

    def _lines(self, console: Console, columns: _Columns, widths: Sequence[int]) -> Iterator[Text]:
        yield from _head(console, columns, widths)
        yield Text("─" * _total_width(widths), no_wrap=True, overflow="ignore")
        for row in self.rows:
            if isinstance(row, Text):
                yield row
            elif _is_blank(row[1:]) or not _is_blank(row[c.place] for c in columns[1:]):
                fields = (
                    (c.text(row[c.place]), width, c.side) for c, width in zip(columns, widths, strict=True)
                )
                yield from _side_by_side(console, list(fields))


def _parts(columns: _Columns, width: int) -> list[list["_MeasuredColumn"]]:
    first, *others = columns
    parts = [[first]]
    for column in others:
        if len(parts[-1]) > 1 and _total_width(_least_widths([*parts[-1], column])) > width:
            parts.append([first])
        parts[-1].append(column)
    return parts


def _stacked(
    console: Console, columns: _Columns, row: Sequence[Cell], width: int, title: "_MeasuredColumn"
) -> Iterator[Text]:
    first, lines = Text(), list[Text]()
    for c in (column for column in columns if not _is_blank([row[column.place]])):
        name = f"{c.column.heading} {c.column.name}".strip()
        if c is title or not name:
            first.append_text(_joined(row[c.place])).append(" " * GAP)
        else:
            lines.append(Text.assemble((f"{name}: ", "bold"), _joined(row[c.place])))
    first.stylize("bold")
    for number, line in enumerate([first, *lines]):
        indent = GAP if number else 0
        for part in line.wrap(console, max(width - indent, _longest_word(line.plain))):
            part.rstrip()
            yield Text.assemble(" " * indent, part, no_wrap=True, overflow="ignore")


def _joined(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else cell.number + cell.after


def _is_blank(cells: Iterable[Cell]) -> bool:
    return not any(_joined(cell).plain.strip() for cell in cells)


def _texts(rows: Sequence[Sequence[Cell] | Text]) -> Iterator[Text]:
    for cell in (cell for row in rows for cell in ([row] if isinstance(row, Text) else row)):
        yield from [cell] if isinstance(cell, Text) else [cell.number, cell.after]


@dataclass(frozen=True)
class _MeasuredColumn:
    column: Column
    place: int
    content: int
    behind: int
    least: int

    @classmethod
    def of(cls, column: Column, cells: Sequence[Cell], *, place: int) -> "_MeasuredColumn":
        column = replace(column, name=visible(column.name), heading=visible(column.heading))
        values = [cell for cell in cells if isinstance(cell, Value)]
        texts = [cell for cell in cells if isinstance(cell, Text)]
        number_width = max((v.number.cell_len for v in values), default=0)
        suffix_width = max((v.after.cell_len for v in values), default=0)
        content = max([number_width + suffix_width, *(text.cell_len for text in texts)])
        words = max(map(_longest_word, [column.name, *(text.plain for text in texts)]))
        minimum = content if column.right else min(content, LABEL)
        return cls(column, place, content, suffix_width, max(words, minimum))

    @property
    def side(self) -> Literal["left", "right"]:
        return "right" if self.column.right else "left"

    def name(self, width: int) -> Text:
        name = Text(self.column.name, style="bold")
        name.pad_right(max(0, min(self.behind, width - name.cell_len)))
        return name

    def text(self, cell: Cell) -> Text:
        if isinstance(cell, Text):
            return cell
        suffix = cell.after.copy()
        suffix.pad_right(self.behind - suffix.cell_len)
        return cell.number + suffix


def _widths(columns: _Columns, width: int) -> list[int]:
    least_widths = _least_widths(columns)
    names = (cell_len(column.column.name) for column in columns)
    widths = [
        max(c.content, name, least) for c, name, least in zip(columns, names, least_widths, strict=True)
    ]
    for right in (True, False):
        while _total_width(widths) > width:
            excess = [
                w if c.column.right == right and w > minimum else 0
                for c, w, minimum in zip(columns, widths, least_widths, strict=True)
            ]
            if not any(excess):
                break
            widths[excess.index(max(excess))] -= 1
    return widths


def _least_widths(columns: _Columns) -> list[int]:
    least_widths = [column.least for column in columns]
    for heading, first, last in _headings(columns):
        least_widths[last] += max(0, _longest_word(heading) - _total_width(least_widths[first : last + 1]))
    return least_widths


def _headings(columns: _Columns) -> Iterator[tuple[str, int, int]]:
    first = 0
    for heading, neighbours in groupby(column.column.heading for column in columns):
        last = first + len(list(neighbours)) - 1
        yield heading, first, last
        first = last + 1


def _head(console: Console, columns: _Columns, widths: Sequence[int]) -> Iterator[Text]:
    headings = list(_headings(columns))
    if any(heading for heading, _, _ in headings):
        fields = [
            (Text(heading, style="bold"), _total_width(widths[first : last + 1]), "center")
            for heading, first, last in headings
        ]
        yield from _side_by_side(console, fields, is_head=True)
    names = [(c.name(width), width, c.side) for c, width in zip(columns, widths, strict=True)]
    yield from _side_by_side(console, names, is_head=True)


def _side_by_side(
    console: Console, fields: Sequence[tuple[Text, int, str]], *, is_head: bool = False
) -> Iterator[Text]:
    blocks = [list(text.wrap(console, max(width, 1), overflow="fold")) for text, width, _ in fields]
    height = max(map(len, blocks))
    padded = []
    for block, (_, _, side) in zip(blocks, fields, strict=True):
        blank = [Text()] * (height - len(block))
        padded.append([*blank, *block] if is_head and side != "left" else [*block, *blank])
    for parts in zip(*padded, strict=True):
        line = Text(no_wrap=True, overflow="ignore")
        for part, (_, width, side) in zip(parts, fields, strict=True):
            part = part.copy()
            part.align(side, max(width, part.cell_len))
            line.append_text(part).append(" " * GAP)
        line.rstrip()
        yield line


def _total_width(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
