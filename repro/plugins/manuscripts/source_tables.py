"""Tables as they are in the source of a paper: cells, marks, places, before anybody says what they mean."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

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
        front: ``title``, ``authors`` and ``venue``, those that the source has.
        notes: what could not be read, a sentence each.
    """

    path: Path
    tables: tuple[SourceTable, ...]
    prose: tuple[tuple[Place, str], ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    front: dict[str, str] = field(default_factory=dict)


def check_size(cells: int, where: Place | Path) -> None:
    """Raise a DataError for more cells than any table of a paper has."""
    if cells > MOST_CELLS:
        raise DataError(f"{where}: is a table of more than {MOST_CELLS:,} cells, of no paper")


class Style(NamedTuple):
    """How a piece of text is set; ``script`` is ``^`` above the line, ``_`` below it."""

    bold: bool = False
    underlined: bool = False
    italic: bool = False
    script: str = ""


class Piece(NamedTuple):
    """Text of one style."""

    text: str
    style: Style


def plain(pieces: Iterable[Piece]) -> str:
    """Return pieces as one line of text, scripts in the line."""
    return _tidy("".join(piece.text for piece in pieces))


def _tidy(text: str) -> str:
    text = re.sub(r"(?<=\d)\u2009(?=\d{3})", "", text)  # a thin space parts thousands
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*([±×])\s*", r"\1", text)
    text = re.sub(r"\(\s*[,;]*\s*\)|\[\s*[,;]*\s*\]", "", text)  # a citation stood there
    return text.replace(" ,", ",").strip()


_SYMBOLS = "†‡§¶*∗⋆★✶♣♠♦♥♢♡△▲▽▼⋄◇◆○•∘⊕"
_NUMBER_BEFORE = re.compile(r"\d[%)]?\s*$")
_DIFFERENCE = re.compile(r"\(?[-+−↑↓]\s*\d*\.?\d")
_BASE_BEFORE = re.compile(r"(?:^|[^\d.])10$|(?:^|[^A-Za-z])[A-Za-z]$")


def styled(
    pieces: Iterable[Piece], place: Place, source: str, *, columns: int = 1, rows: int = 1
) -> SourceCell:
    """Return the cell at a place, its text and marks (raised symbols, letters, numbers) apart; bold etc. by
    its first letter or digit. Deviations stay in the text."""
    text, marks, first = "", [], None
    said = (piece for piece in pieces if piece.text)
    groups = [(script, list(group)) for script, group in groupby(said, key=lambda p: p.style.script)]
    for (script, part), (following, _) in zip(groups, [*groups[1:], ("", [])], strict=False):
        if script:
            more, raised = _script(script + following, plain(part), text)
            marks += raised
            text += more
            continue
        for piece in part:
            if first is None and any(c.isalnum() for c in piece.text):
                first = piece.style
            text += piece.text
    text = _tidy(text)
    inner_text = text.strip(_SYMBOLS + " ")
    if inner_text and len(inner_text) < len(text):
        before, after = text[: text.index(inner_text)], text[text.index(inner_text) + len(inner_text) :]
        marks = [*_marks(before), *_marks(after), *marks]
        text = inner_text
    bold, underlined, italic, _ = first or Style()
    return SourceCell(text, place, source, bold, underlined, italic, tuple(marks), columns, rows)


def _script(script: str, content: str, before: str) -> tuple[str, list[str]]:
    """Return the text and the marks of a raised or lowered text; ``^_`` is a raised one before a lowered one:
    w^c_i."""
    of_number = _NUMBER_BEFORE.search(before) is not None
    of_base = _BASE_BEFORE.search(before.rstrip()) is not None  # a ten or a variable has a power
    if content.startswith("±"):
        return content, []
    if of_number and not of_base and _DIFFERENCE.match(content):
        return f" ({content.strip('()')})", []
    if script[0] == "_":
        return _lowered(content, of_number), []
    if of_base and re.fullmatch(r"[-+−]?\d+" if script == "^" else r"[-+−]?\w+", content):
        return f"^{content}", []
    return ("", _marks(content)) if _are_marks(content, before, of_number) else (content, [])


def _lowered(content: str, of_number: bool) -> str:
    return f" ({content})" if of_number and content[:1].isdigit() else content


def _are_marks(content: str, before: str, of_number: bool) -> bool:
    if content in ("st", "nd", "rd", "th", "'", "′"):
        return False
    if content == "footnote" or (
        content.isalpha() and content.islower() and (of_number or not before.strip())
    ):
        return True
    words = [word.strip("()" + _SYMBOLS) for word in re.split(r"[,;\s]+", content)]
    return all(len(word) <= 1 or word.isdigit() for word in words)


def _marks(text: str) -> list[str]:
    if text.isalpha() and text != "footnote":
        return list(text)
    return re.findall(r"\*+|footnote|\d+|[^\s,;()]", text.replace("∗", "*"))
