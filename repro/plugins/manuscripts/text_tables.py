"""Tables of Markdown, HTML, CSV and TSV files, e.g. ``results.csv``."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from repro.errors import DataError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.latex_text import Words, parse
from repro.plugins.manuscripts.layout import head_length
from repro.plugins.manuscripts.source_tables import (
    Parts,
    Piece,
    Place,
    Rows,
    SourceCell,
    SourceTable,
    Style,
    check_size,
    plain,
    styled,
    uneven,
    with_points,
)

TAGS: dict[str, dict[str, Any]] = {
    "b": {"bold": True},
    "strong": {"bold": True},
    "u": {"underlined": True},
    "ins": {"underlined": True},
    "sup": {"script": "^"},
    "sub": {"script": "_"},
}
NUMBERED = re.compile(r"\s*Table\s+(\d+[a-z]?)\b", re.IGNORECASE)
_PARAGRAPHS = frozenset({"p", "div", "li", "h1", "h2", "h3", "h4"})
_SHADE = re.compile(r"background(?:-color)?:\s*([^\s;]+)")
_SPAN_LIMIT = 200


def table_of(
    rows: Rows, caption: str = "", *, head: int | None = None, rules: Sequence[int] = ()
) -> list[SourceTable]:
    width = max(map(len, rows), default=0)
    if len(rows) < 2 or width < 2:
        return []
    check_size(width * len(rows), rows[0][0].place)
    rows = with_points(rows)
    full = [(*row, *(SourceCell("", row[0].place) for _ in range(width - len(row)))) for row in rows]
    head = head_length(full, rules) if head is None else head
    number = NUMBERED.match(caption)
    place, above, body = rows[0][0].place, tuple(full[:head]), tuple(full[head:])
    return [SourceTable(place, above, body, caption=caption, number=number[1] if number else "")]


class _Cell(NamedTuple):
    pieces: list[Piece]
    place: Place
    columns: int
    rows: int
    is_head: bool
    shade: str


@dataclass
class _Table:
    rows: list[list[_Cell]] = field(default_factory=list)
    caption: list[Piece] = field(default_factory=list)
    text: list[Piece] | None = None  # of a cell or caption
    head: int = 0

    def grid(self) -> Rows:
        grid: Rows = []
        above: dict[int, tuple[SourceCell, int]] = {}  # column -> cell, remaining rows
        for row in self.rows:
            made: list[SourceCell] = []
            for one in row:
                _take(made, above)
                cell = replace(styled(one.pieces, one.place, columns=one.columns), shade=one.shade)
                columns = range(len(made), len(made) + one.columns)
                above |= dict.fromkeys(columns if one.rows > 1 else (), (cell, one.rows - 1))
                made += [cell] * one.columns
            _take(made, above)
            grid.append(made)
        return [row for row in grid if any(c.text for c in row)]


def _take(made: list[SourceCell], above: dict[int, tuple[SourceCell, int]]) -> None:
    while len(made) in above:
        cell, rows = above.pop(len(made))
        if rows > 1:
            above[len(made)] = (cell, rows - 1)
        made.append(cell)


class _Parser(HTMLParser):
    def __init__(self, path: Path, first: int):
        super().__init__()
        self.tables: list[_Table] = []
        self.prose = Parts()
        self._path, self._first = path, first
        self._open: list[_Table] = []
        self._styles: list[tuple[str, Style]] = []
        self._text: list[Piece] = []
        self._at: Place | None = None
        self._silent = self._cells = 0

    def handle_starttag(self, tag: str, attrs) -> None:
        given = dict(attrs)
        match tag:
            case "script" | "style":
                self._silent += 1
            case "table":
                self._end_paragraph()
                self._open.append(_Table())
                self.tables.append(self._open[-1])
            case "tr" if self._open:
                self._open[-1].rows.append([])
            case "td" | "th":
                self._begin_cell(given, is_head=tag == "th")
            case "caption" if self._open:
                self._open[-1].text = self._open[-1].caption
            case "br":
                self.handle_data(" ")
            case _:
                self._part(tag)
        if tag in TAGS or "bold" in (given.get("style") or ""):
            self._styles.append((tag, self._style()._replace(**TAGS.get(tag, {"bold": True}))))

    def handle_endtag(self, tag: str) -> None:
        if self._styles and self._styles[-1][0] == tag:
            self._styles.pop()
        match tag:
            case "script" | "style":
                self._silent = max(0, self._silent - 1)
            case "table":
                del self._open[-1:]
            case "thead" if self._open:
                self._open[-1].head = len(self._open[-1].rows)
            case "td" | "th" | "caption" if self._open:
                self._open[-1].text = None
            case _:
                self._part(tag)

    def _begin_cell(self, given: dict, *, is_head: bool) -> None:
        self._styles = []
        if self._open:
            table = self._open[-1]
            table.rows, table.text = table.rows or [[]], []
            place = Place(self._path, self._first + self.getpos()[0] - 1)
            self._cells += 1
            check_size(self._cells, place)
            spans = _span(given.get("colspan")), _span(given.get("rowspan"))
            shade = _SHADE.search(f"background:{given.get('bgcolor') or ''};{given.get('style') or ''}")
            table.rows[-1].append(_Cell(table.text, place, *spans, is_head, shade[1] if shade else ""))

    def _style(self) -> Style:
        return self._styles[-1][1] if self._styles else Style()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if not self._open:
            if data.strip():
                self._at = self._at or Place(self._path, self._first + self.getpos()[0] - 1)
            self._text.append(Piece(data, self._style()))
        elif self._open[-1].text is not None:
            self._open[-1].text.append(Piece(data, self._style()))

    def close(self) -> None:
        super().close()
        self._end_paragraph()

    def _part(self, tag: str) -> None:
        if tag in _PARAGRAPHS and not self._open:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        if self._at:
            self.prose.append((self._at, plain(self._text)))
        self._text, self._at = [], None


def _span(text: str | None) -> int:
    return max(1, min(_SPAN_LIMIT, int(text))) if text and text.isdigit() else 1


def read_html(text: str, path: Path, *, first: int = 1, caption: str = "") -> tuple[list[SourceTable], Parts]:
    parser = _Parser(path, first)
    parser.feed(text)
    parser.close()
    tables: list[SourceTable] = []
    for one in parser.tables:
        heads = next((i for i, row in enumerate(one.rows) if not all(c.is_head for c in row)), 0)
        tables += table_of(one.grid(), plain(one.caption) or caption, head=one.head or heads or None)
    return tables, parser.prose


HTML, MARKDOWN, SEPARATED = (".html", ".htm"), (".md", ".markdown"), (".csv", ".tsv")
_SPECIAL = re.compile(r"[*_`<&!\[\\]|https?:")
Read = tuple[list[SourceTable], Parts, Parts]  # tables, prose, lost parts


def read_tables(files: Files, name: str) -> Read:
    ending = PurePosixPath(name).suffix.lower()
    text = files.text(name)
    if ending in SEPARATED:
        return _separated(text, files, name)
    return (*read_html(text, files.shown(name)), []) if ending in HTML else _markdown(text, files, name)


def _markdown(text: str, files: Files, name: str) -> Read:
    tables, prose, lost = list[SourceTable](), Parts(), Parts()
    lines = text.split("\n")
    path, caption = files.shown(name), ""
    check_size(text.count("|") // 2, path)
    tokens = _markdown_it().parse(text)
    for number, token in enumerate(tokens):
        at = Place(path, (token.map or [0])[0] + 1)
        if token.type == "table_open":
            tables += _table_of_tokens(tokens[number:], path, caption)
            lost += uneven(_widths(lines, path, *token.map))
        elif token.type == "html_block":
            more, around = read_html(token.content, path, first=at.line, caption=caption)
            tables, prose = tables + more, prose + around
        elif token.type == "inline" and tokens[number - 1].tag not in ("th", "td"):
            prose.append((at, plain(_of_markdown(token.content))))
            if tokens[number - 1].type == "heading_open" or NUMBERED.match(prose[-1][1]):
                caption = prose[-1][1]
            elif tokens[min(number + 2, len(tokens) - 1)].type == "table_open":
                caption = f"{caption}. {prose[-1][1]}"
    return tables, prose, lost


def _widths(lines: list[str], path: Path, start: int, end: int) -> list[tuple[Place, int]]:
    bars = (re.findall(r"(?<!\\)\|", line.strip().strip("|")) for line in lines[start:end])
    return [(Place(path, number), len(each) + 1) for number, each in enumerate(bars, start=start + 1)]


@cache
def _markdown_it():
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _table_of_tokens(tokens: list, path: Path, caption: str) -> list[SourceTable]:
    rows: Rows = []
    line = 0
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            line = token.map[0] + 1 if token.map else line + 1
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(styled(_of_markdown(token.content), Place(path, line)))
    return table_of(rows, caption, rules=[1])


def _of_markdown(text: str) -> Iterator[Piece]:
    if "\\" in text and ("$" in text or re.search(r"\\[a-zA-Z]+\{", text)):
        yield from Words().pieces(parse(re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", text)))
    elif not _SPECIAL.search(text):
        yield Piece(text, Style())
    else:
        yield from _inline(text)


def _inline(text: str) -> Iterator[Piece]:
    styles = [Style()]
    for token in _markdown_it().parseInline(text)[0].children or []:
        tag, opens = _tag(token)
        if tag in TAGS and opens:
            styles.append(styles[-1]._replace(**TAGS[tag]))
        elif tag in TAGS and len(styles) > 1:
            styles.pop()
        elif tag == "br" or token.type == "softbreak":
            yield Piece(" ", styles[-1])
        elif token.type != "html_inline":
            yield Piece(token.content, styles[-1])


def _tag(token) -> tuple[str, bool]:
    html = re.match(r"<(/?)(\w+)", token.content) if token.type == "html_inline" else None
    return (html[2].lower(), not html[1]) if html else (token.tag, token.nesting > 0)


def _separated(text: str, files: Files, name: str) -> Read:
    text = text.replace("\0", "")
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")][:20] or [""]
    often = {m: sum(line.count(m) == lines[0].count(m) > 0 for line in lines) for m in "\t;|,"}
    mark = "\t" if name.endswith(".tsv") else max(often, key=often.__getitem__)
    remarks = "".join(re.findall(r"\A(?:\s*#.*\n)+", text))
    blank = re.sub(r".+", "", remarks) + text[len(remarks) :]
    rows = list(_rows(csv.reader(io.StringIO(blank), delimiter=mark), files.shown(name)))
    caption = " ".join(remarks.replace("#", " ").split())
    return table_of(rows, caption), [], list(uneven([(row[0].place, len(row)) for row in rows]))


def _rows(reader: Any, path: Path) -> Iterator[list[SourceCell]]:
    cells = 0
    try:
        for values in reader:
            place = Place(path, max(1, reader.line_num))
            cells += len(values)
            check_size(cells, place)
            if any(map(str.strip, values)):
                yield [styled(_of_markdown(value.strip()), place) for value in values]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: This is no table: {error}") from error
