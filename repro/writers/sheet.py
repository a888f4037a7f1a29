"""Print tables on a terminal without breaking words. Columns that do not fit are left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from repro.errors import visible

GAP = 2
LABEL = 20  # what text keeps of its width before columns are left out
UNLIMITED = 10_000  # a width that says that there is no limit
LINE = 120  # at which text is wrapped where there is none


@dataclass(frozen=True)
class Column:
    """A column's name, with a heading that neighbours may share. Numbers are right-aligned, never wrapped."""

    name: str
    heading: str = ""
    right: bool = True


@dataclass(frozen=True)
class Value:
    """A right-aligned number with a left-aligned suffix, e.g. "33.1" and its superscript."""

    number: Text
    after: Text


Cell = Text | Value


@dataclass
class Sheet:
    """Columns and rows. A row that is one ``Text`` is a heading over the full width.

    Attributes:
        drop: indices of columns in the order of their removal on a narrow terminal. Then the last ones go.
        multiline: whether a line break in a cell starts a new line. Otherwise it is escaped.
    """

    columns: list[Column]
    rows: list[Sequence[Cell] | Text] = field(default_factory=list)
    drop: Sequence[int] = ()
    multiline: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines, as wide as the console unless a word or the first numbers need more."""
        for text in _texts(self.rows):
            parts = text.plain.split("\n") if self.multiline else [text.plain]
            text.plain = "\n".join(map(visible, parts))
        self.columns = [replace(c, name=visible(c.name), heading=visible(c.heading)) for c in self.columns]
        shown = self._shown(options.max_width)
        is_limited = options.max_width < UNLIMITED
        widths = _widths(shown, options.max_width if is_limited else LINE)
        lines = _lines
        if is_stacked := _is_stacked(shown, options.max_width):
            lines, widths = _stacked, [options.max_width, options.max_width - GAP]
        yield Text()
        yield from _head(console, shown, widths, lines)
        yield Text("─" * (widths[0] if is_stacked else _total(widths)), no_wrap=True, overflow="ignore")
        for row in self.rows:
            if isinstance(row, Text):
                yield row
            else:
                texts = [c.text(row[c.place]) for c in shown]
                yield from lines(console, list(zip(texts, widths, (c.side for c in shown), strict=True)))
        places = {column.place for column in shown}
        if left_out := [c for place, c in enumerate(self.columns) if place not in places]:
            names = ", ".join(" ".join(filter(None, (c.heading, c.name))) for c in left_out)
            yield Text(f"not shown for want of width: {names}", style="dim")

    def _shown(self, width: int) -> list["_MeasuredColumn"]:
        cells = [row for row in self.rows if not isinstance(row, Text)]
        shown = [
            _MeasuredColumn.of(c, [row[place] for row in cells], place=place)
            for place, c in enumerate(self.columns)
        ]
        for place in [*self.drop, *reversed(range(1, len(self.columns)))]:
            if len(shown) <= 2 or _total(_least_widths(shown)) <= width:
                break
            shown = [column for column in shown if column.place != place]
        return shown


def _texts(rows: Sequence[Sequence[Cell] | Text]) -> Iterator[Text]:
    for cell in (cell for row in rows for cell in ([row] if isinstance(row, Text) else row)):
        yield from [cell] if isinstance(cell, Text) else [cell.number, cell.after]


@dataclass(frozen=True)
class _MeasuredColumn:
    """A column with the widths that its cells need.

    Attributes:
        content: width of the widest cell, with numbers aligned.
        behind: width of the widest suffix of a number.
        least: the smallest width that breaks no word or number.
    """

    column: Column
    place: int
    content: int
    behind: int
    least: int

    @classmethod
    def of(cls, column: Column, cells: Sequence[Cell], *, place: int) -> "_MeasuredColumn":
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

    @property
    def wished(self) -> int:
        """The width at which its name and cells fit on one line."""
        return max(self.content, cell_len(self.column.name))

    def name(self, width: int) -> Text:
        """Return the column's name, placed above the numbers if the suffixes leave room."""
        name = Text(self.column.name, style="bold")
        name.pad_right(max(0, min(self.behind, width - name.cell_len)))
        return name

    def text(self, cell: Cell) -> Text:
        """Return the cell as a text. Suffixes of numbers are padded to the same width."""
        if isinstance(cell, Text):
            return cell
        suffix = cell.after.copy()
        suffix.pad_right(self.behind - suffix.cell_len)
        return cell.number + suffix


def _widths(columns: Sequence[_MeasuredColumn], width: int) -> list[int]:
    least_widths = _least_widths(columns)
    widths = [max(column.wished, minimum) for column, minimum in zip(columns, least_widths, strict=True)]
    for right in (True, False):
        while _total(widths) > width:
            excess = [
                w if c.column.right == right and w > minimum else 0
                for c, w, minimum in zip(columns, widths, least_widths, strict=True)
            ]
            if not any(excess):
                break
            widths[excess.index(max(excess))] -= 1
    return widths


def _least_widths(columns: Sequence[_MeasuredColumn]) -> list[int]:
    least_widths = [column.least for column in columns]
    for heading, first, last in _headings(columns):
        least_widths[last] += max(0, _longest_word(heading) - _total(least_widths[first : last + 1]))
    return least_widths


def _headings(columns: Sequence[_MeasuredColumn]) -> Iterator[tuple[str, int, int]]:
    first = 0
    for heading, neighbours in groupby(column.column.heading for column in columns):
        last = first + len(list(neighbours)) - 1
        yield heading, first, last
        first = last + 1


def _head(
    console: Console, columns: Sequence[_MeasuredColumn], widths: Sequence[int], lines: Callable
) -> Iterator[Text]:
    headings = list(_headings(columns))
    if any(heading for heading, _, _ in headings):
        fields = [
            (Text(heading, style="bold"), _total(widths[first : last + 1]), "center")
            for heading, first, last in headings
        ]
        yield from _lines(console, fields, is_head=True)
    names = [(c.name(width), width, c.side) for c, width in zip(columns, widths, strict=True)]
    yield from lines(console, names, is_head=True)


def _lines(
    console: Console, fields: Sequence[tuple[Text, int, str]], *, is_head: bool = False
) -> Iterator[Text]:
    """Yield texts side by side, wrapped between words. Heads of numbers are aligned to the last line."""
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


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _is_stacked(columns: Sequence[_MeasuredColumn], width: int) -> bool:
    """Return whether two columns do not fit side by side, but the second (text) fits below the first."""
    if len(columns) != 2 or columns[1].column.right or columns[1].column.heading:
        return False
    first, second = _least_widths(columns)
    return _total([first, second]) > width >= max(first, GAP + second)


def _stacked(console: Console, fields: Sequence[tuple[Text, int, str]], **how) -> Iterator[Text]:
    """Yield two texts below each other, the second indented."""
    yield from _lines(console, fields[:1], **how)
    yield from _lines(console, [(Text(), 0, "left"), *fields[1:]], **how)
