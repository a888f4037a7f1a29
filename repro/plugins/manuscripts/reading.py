"""Reads LaTeX or files of tables, e.g. ``read(Path("paper.tex"))``."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from repro.errors import DataError, UsageError
from repro.plugins.manuscripts import gullet, latex_tables, orders, text_tables
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.latex_text import Words, arguments, last, names, parse, raw
from repro.plugins.manuscripts.source_tables import (
    CHOICE,
    Manuscript,
    Parts,
    Place,
    SourceTable,
    check_size,
    plain,
    prose_with_points,
)

_LATEX = (".tex", ".ltx")
_TABLES = (*text_tables.MARKDOWN, *text_tables.SEPARATED, *text_tables.HTML)
_CLASS = re.compile(r"\\documentclass(?!.*\{(?:subfiles|standalone)\})")
_INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}\\]+)\}")
_NUMBERS = re.compile(r"&[^&\n\\a-z]*(?:\\\w+\{)?\d+\.\d")
_MAIN = ("main", "ms", "paper", "root", "article", "manuscript")
Read = tuple[list[SourceTable], Parts, dict[str, str], list[str], str, Parts]


class NoTableError(DataError):
    """A source contains no table."""


def read(path: Path) -> Manuscript:
    """Read a source. Raises UsageError if it is missing or no source, DataError without a readable table."""
    try:
        tables, prose, labels, notes, title, lost = _read(Files(path))
    except RecursionError:
        raise DataError(f"{path} cannot be read: braces or environments are nested too deeply") from None
    if not tables:
        hint = f" ({notes[0]})" if notes else ""
        raise NoTableError(f"{path} contains no table{hint}")
    paragraphs, parts = tuple(prose_with_points(prose)), tuple(dict.fromkeys(lost))
    return Manuscript(path, tuple(tables), paragraphs, labels, tuple(notes), title, parts)


def _read(files: Files) -> Read:
    endings = {name: _ending(name) for name in files}
    if not {*endings.values()}.isdisjoint(_LATEX) or {*endings.values()}.isdisjoint(_TABLES):
        return read_latex(files, *_main_files(files))
    tables, prose, lost = list[SourceTable](), Parts(), Parts()
    for name in (name for name, ending in endings.items() if ending in _TABLES):
        own_tables, own_prose, own_lost = text_tables.read_tables(files, name)
        tables, prose, lost = tables + own_tables, prose + own_prose, lost + own_lost
    return tables, prose, {}, [], "", lost


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _main_files(files: Files) -> tuple[list[str], list[str]]:
    if files.only:
        return [_source(files)], []
    texts = {name: re.sub(r"(?<!\\)%.*", "", files.text(name)) for name in files if _ending(name) in _LATEX}
    if not texts:
        raise DataError(f"{files.path} has no file with extension {', '.join((*_LATEX, *_TABLES))}")
    papers = [name for name, text in texts.items() if _CLASS.search(text) and "\\begin{document}" in text]
    if not papers:
        return _outer(texts), []
    papers.sort(key=lambda name: _rank(name, texts))
    others = ", ".join(papers[1:])
    return papers[:1], [f"{files.shown(papers[0])} {CHOICE} {others}"] if others else []


def _rank(name: str, texts: dict[str, str]) -> tuple[bool, int, bool, int]:
    path, whole = PurePosixPath(name), texts[name]
    for inner in _INPUT.findall(whole):
        file = (path.parent / inner.strip()).as_posix()
        whole += texts.get(file, texts.get(f"{file}.tex", ""))
    has_numbers = len(_NUMBERS.findall(whole)) > 2
    return not has_numbers, len(path.parts), path.stem.lower() not in _MAIN, -len(whole)


def _outer(texts: dict[str, str]) -> list[str]:
    read_in = _INPUT.findall("\n".join(texts.values()))
    inner = {PurePosixPath(name.strip()).stem for name in read_in}
    return [name for name in texts if PurePosixPath(name).stem not in inner] or list(texts)


def _source(files: Files) -> str:
    text = files.text(files.only)
    if not text.strip():
        raise DataError(f"{files.path} is empty.")
    if _ending(files.only) not in _LATEX and "\\begin" not in text:
        remedy = f"Give LaTeX, {', '.join(_TABLES)}, a folder or an archive."
        raise UsageError(f"{str(files.path)!r} is no source. {remedy}")
    return files.only


_EDGE = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
_UNREAD = re.compile(
    r"\\begin\{(equation|align|gather|eqnarray|multline|displaymath|tikzpicture|algorithm|thebibliography|CCSXML)"
    r"(\*?)\}.*?\\end\{\1\2\}",
    re.DOTALL,
)
_FRAME = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\]]*\])?|\\item\b(?:\[[^\]]*\])?")
_TITLE = re.compile(r"\\title\s*(?:\[[^\]]*\])?\s*(?=\{)")
_TITLE_LENGTH = 2000  # characters
_PARAGRAPH = re.compile(
    r"\n\n|\\par\b|(?=\\(?:(?:sub)*section|(?:sub)?paragraph|chapter|title|abstract|item)\b)|\\maketitle"
)


class _Float:
    def __init__(self, flat: gullet.Expanded, start: int, end: int, name: str):
        self.flat, self.start, self.text = flat, start, flat.text[start:end]
        check_size(self.text.count("&"), flat.place(start))
        self.nodes = parse(re.sub(r"(?<!\\)\$\$", "{}", self.text))  # in a cell, an empty formula
        kinds = {"Table": "tables", "Figure": "figures"}
        self.scope = latex_tables.Scope(next((word for word, key in kinds.items() if name in names(key)), ""))
        self.scope.gather(self.nodes)

    def tables(self, numbers: dict[str, str]) -> list[SourceTable]:
        made: list[tuple[int, SourceTable]] = []
        legend = self._legend(numbers) if any(scope.tabulars for scope in self.scope.walk()) else ()
        for scope in self.scope.walk():
            for which, node in enumerate(scope.tabulars):
                captions = (_text_of(caption, numbers) for caption in scope.captions_of(which))
                tables = latex_tables.Tabular(node, self.flat, self.start, Words(numbers)).tables(
                    legend,
                    caption=" ".join(captions) or _option(node),
                    label=scope.label_of(which),
                    number=scope.number_of(which),
                )
                made += [(node.pos, table) for table in tables]
        return [table for _, table in sorted(made, key=itemgetter(0))]

    def _legend(self, numbers: dict[str, str]) -> tuple[str, ...]:
        words = Words(numbers, is_legend=True)
        pieces = words.pieces(self.nodes)
        parts = groupby(pieces, key=lambda piece: piece.text == "\n\n")
        lines = (plain(part) for is_end, part in parts if not is_end)
        return tuple(line for line in [*lines, *words.footnotes] if sum(map(str.isalpha, line)) > 2)


def _option(node: Any) -> str:
    match = re.search(r"\bcaption\s*=\s*\{([^{}]*)\}", raw(filter(None, arguments(node)[:1])))
    return _as_text(parse(match[1])) if match else ""


def _text_of(caption: latex_tables.Caption, numbers: dict[str, str]) -> str:
    nodes = last(caption.node)
    if getattr(caption.node, "macroname", "") == "subfloat":
        nodes = next(given.nodelist for given in arguments(caption.node)[:2] if given is not None)
    return plain(piece for piece in Words(numbers).pieces(nodes) if piece.text != "footnote")


def read_latex(files: Files, first: list[str], notes: list[str]) -> Read:
    """Read the LaTeX files ``first`` and those that they include. The notes begin with ``notes``."""
    flat = orders.expand(files, first)
    floats, outside = _parts(flat)
    numbers = latex_tables.numbered(one.scope for one in floats)
    tables: list[SourceTable] = []
    for one in floats:
        tables += (own := one.tables(numbers))
        if not own and one.scope.kind == "Table" and one.text.count("&") > 2:
            flat.lost.append((flat.place(one.start), "This table is not read"))
    prose = [said for part in outside for said in _prose(flat, *part, numbers)]
    labels = {label: number for label, number in numbers.items() if not label.startswith("kind of ")}
    return tables, prose, labels, [*notes, *flat.notes], _title(flat.text), flat.lost


def _title(text: str) -> str:
    start = _TITLE.search(text)
    return _as_text(parse(text[start.end() : start.end() + _TITLE_LENGTH])[:1]) if start else ""


def _as_text(nodes: list[Any]) -> str:
    pieces = Words().pieces(nodes)
    return plain(piece for piece in pieces if piece.style.script != "^" and piece.text != "footnote")


def _parts(flat: gullet.Expanded) -> tuple[list[_Float], list[tuple[int, int]]]:
    begin, end = flat.text.find("\\begin{document}"), flat.text.rfind("\\end{document}")
    at, end = begin + len("\\begin{document}") if begin >= 0 else 0, end if end >= 0 else len(flat.text)
    outermost = names("tables", "figures", "tabulars") - {"array"} | {"minipage", "center"}
    start = re.compile(rf"\\begin\s*\{{({'|'.join(map(re.escape, outermost))})\}}")
    floats: list[_Float] = []
    outside: list[tuple[int, int]] = []
    while frame := start.search(flat.text, at, end):
        behind, is_closed = _end_of(flat.text, frame, end)
        if not is_closed:
            flat.lost.append((flat.place(frame.start()), f"\\begin{{{frame[1]}}} has no \\end"))
        floats.append(_Float(flat, frame.start(), behind, frame[1]))
        outside.append((at, frame.start()))
        at = behind
    return floats, [*outside, (at, end)]


def _end_of(text: str, frame: re.Match, end: int) -> tuple[int, bool]:
    framed, depth = names("tables", "figures"), 1
    for edge in _EDGE.finditer(text, frame.end(), end):
        if edge[1] == "begin" and edge[2] in framed and frame[1] in framed:
            return edge.start(), False
        if edge[2].rstrip("*") == frame[1].rstrip("*"):
            depth += 1 if edge[1] == "begin" else -1
        if not depth:
            return edge.end(), True
    return end, False


def _prose(
    flat: gullet.Expanded, start: int, end: int, numbers: dict[str, str]
) -> Iterator[tuple[Place, str]]:
    text = _UNREAD.sub(_blanks, flat.text[start:end])
    at = 0
    for edge in [*(match.span() for match in _PARAGRAPH.finditer(text)), (len(text), len(text))]:
        paragraph = _FRAME.sub(_blanks, text[at : edge[0]])
        place = start + at + len(paragraph) - len(paragraph.lstrip())
        at = edge[1]
        try:
            yield from ((flat.place(place), line) for line in _lines(paragraph, numbers))
        except RecursionError:  # of a macro that its own definition contains
            flat.lost.append((flat.place(place), "This paragraph is not read"))


def _blanks(match: re.Match) -> str:
    return " " * len(match[0])


def _lines(paragraph: str, numbers: dict[str, str]) -> Iterator[str]:
    words = Words(numbers)
    said = " ".join(paragraph.split())
    if re.search(r"[\\${}~^_`'-]", said):
        said = plain(piece for piece in words.pieces(parse(paragraph)) if piece.text != "footnote")
    yield from (line for line in (said, *words.footnotes) if any(map(str.isalpha, line)))
