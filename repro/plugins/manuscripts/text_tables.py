"""Tables of Markdown, HTML, CSV and TSV files."""

import csv
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from repro.errors import DataError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.heads import head_length
from repro.plugins.manuscripts.html_tables import NUMBERED, TAGS, read_html, table_of
from repro.plugins.manuscripts.styles import Piece, Style, plain, styled
from repro.plugins.manuscripts.tables import Place, SourceCell, SourceTable, check_size

HTML, MARKDOWN, SEPARATED = (".html", ".htm"), (".md", ".markdown"), (".csv", ".tsv")
_SPECIAL = re.compile(r"[*_`<&!\[\\]|https?:")
Read = tuple[list[SourceTable], list[tuple[Place, str]]]


def read_tables(files: Files, name: str) -> Read:
    """Return the tables and paragraphs of a file, by what its name ends in."""
    ending = PurePosixPath(name).suffix.lower()
    text = files.text(name)
    if ending in SEPARATED:
        return _separated(text, files, name), []
    return read_html(text, files.shown(name)) if ending in HTML else _markdown(text, files, name)


# Markdown


def _markdown(text: str, files: Files, name: str) -> Read:
    tables: list[SourceTable] = []
    prose: list[tuple[Place, str]] = []
    path, caption = files.shown(name), ""
    check_size(text.count("|") // 2, path)
    tokens = _markdown_it().parse(text)
    for number, token in enumerate(tokens):
        at = Place(path, (token.map or [0])[0] + 1)
        if token.type == "table_open":
            tables += _table_of_tokens(tokens[number:], path, caption)
        elif token.type == "html_block":
            more, around = read_html(token.content, path, first=at.line, caption=caption)
            tables, prose = tables + more, prose + around
        elif token.type == "inline" and tokens[number - 1].tag not in ("th", "td"):
            prose.append((at, plain(_of_markdown(token.content))))
            if tokens[number - 1].type == "heading_open" or NUMBERED.match(prose[-1][1]):
                caption = prose[-1][1]
    return tables, prose


@cache
def _markdown_it():
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _table_of_tokens(tokens: list, path: Path, caption: str) -> list[SourceTable]:
    rows: list[list[SourceCell]] = []
    line = 0
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            line = token.map[0] + 1 if token.map else line + 1
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(styled(_of_markdown(token.content), Place(path, line), token.content))
    return table_of(rows, caption, head=head_length(rows, [1]))


def _of_markdown(text: str) -> Iterator[Piece]:
    """Yield the text of one line of Markdown, of HTML or of LaTeX's mathematics in it."""
    if "\\" in text and ("$" in text or re.search(r"\\[a-zA-Z]+\{", text)):
        yield from _of_latex(re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", text))
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


def _of_latex(text: str) -> Iterator[Piece]:
    from repro.plugins.manuscripts.latex_text import Words, parse

    return Words().pieces(parse(text))


def _tag(token) -> tuple[str, bool]:
    """Return the name of a tag, and whether it opens."""
    html = re.match(r"<(/?)(\w+)", token.content) if token.type == "html_inline" else None
    return (html[2].lower(), not html[1]) if html else (token.tag, token.nesting > 0)


# CSV and TSV


def _separated(text: str, files: Files, name: str) -> list[SourceTable]:
    first = text.lstrip().partition("\n")[0]
    mark = "\t" if name.endswith(".tsv") else max(",;\t|", key=first.count)
    reader = csv.reader(io.StringIO(text.replace("\0", "")), delimiter=mark)
    rows: list[list[SourceCell]] = []
    cells = 0
    try:
        for values in reader:
            place = Place(files.shown(name), max(1, reader.line_num))
            if any(value.strip() for value in values):
                cells += len(values)
                check_size(cells, place)
                rows.append([styled(_of_markdown(v.strip()), place, v) for v in values])
    except csv.Error as error:
        raise DataError(f"{files.shown(name)}:{reader.line_num}: is no table of values: {error}") from error
    return table_of(rows)
