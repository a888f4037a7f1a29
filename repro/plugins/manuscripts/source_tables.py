r"""Tables as in the source of a paper, without interpretation. For example, ``\textbf{36.6}$^\dagger$`` is a
bold cell with text "36.6" and marks ``("†",)``."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from repro.errors import DataError

MOST_CELLS = 100_000  # per table (the largest of a paper has a tenth of it)


@dataclass(frozen=True)
class Place:
    """A line of a file. Lines start at 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class SourceCell:
    """A cell as written in the source.

    Attributes:
        text: the printed text without styles and marks, e.g. ``36.6``.
        marks: superscripts, daggers and letters around the text, e.g. ``("†", "*")``.
        shade: the colour behind it, e.g. ``{green!20}``, or "".
        columns: the number of spanned columns. Each spanned position has the same cell object.
    """

    text: str
    place: Place
    bold: bool = False
    underlined: bool = False
    italic: bool = False
    marks: tuple[str, ...] = ()
    columns: int = 1
    shade: str = ""


@dataclass(frozen=True)
class SourceTable:
    """A rectangular table.

    Attributes:
        head: the rows above the values.
        body: the rows of values, and group headings.
        rules: indices of body rows below a horizontal line.
        number: the printed number, e.g. ``3`` or ``3a``, or "".
        legend: other texts of the float, e.g. notes under the table and footnotes of cells.
        notes: a sentence for each unreadable part.
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
    r"""The tables and texts of a source.

    Attributes:
        prose: paragraphs outside of tables with their positions.
        labels: label of a float -> its number in the text, as ``\ref`` prints it.
        front: ``title``, ``authors`` and ``venue``, if the source has them.
        notes: a sentence for each unreadable part.
        lost: parts of tables that are missing, with their positions.
    """

    path: Path
    tables: tuple[SourceTable, ...]
    prose: tuple[tuple[Place, str], ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    front: dict[str, str] = field(default_factory=dict)
    lost: tuple[tuple[Place, str], ...] = ()


def check_size(cells: int, where: Place | Path) -> None:
    """Raise DataError for too many cells."""
    if cells > MOST_CELLS:
        raise DataError(f"{where}: The table has more than {MOST_CELLS:,} cells, the limit.")


class Style(NamedTuple):
    """The style of a piece of text. ``script`` is ``^`` for superscripts and ``_`` for subscripts."""

    bold: bool = False
    underlined: bool = False
    italic: bool = False
    script: str = ""


class Piece(NamedTuple):
    """Text of a single style."""

    text: str
    style: Style


def plain(pieces: Iterable[Piece]) -> str:
    """Return pieces as one line of text."""
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


def styled(pieces: Iterable[Piece], place: Place, *, columns: int = 1) -> SourceCell:
    """Return a cell with its text separate from its marks (raised symbols, letters and numbers). The first
    letter or digit determines bold etc. Deviations remain in the text."""
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
    return SourceCell(text, place, bold, underlined, italic, tuple(marks), columns)


def _script(script: str, content: str, before: str) -> tuple[str, list[str]]:
    """Return text and marks of a script. ``^_`` is a superscript before a subscript, as in w^c_i."""
    of_number = _NUMBER_BEFORE.search(before) is not None
    of_base = _BASE_BEFORE.search(before.rstrip()) is not None  # of 10 or a variable
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


_NUMERIC = re.compile(r"[^\W\d_]?[\d\s.,±+\-−–()\[\]/%|*†‡<>≤≥~≈^×→↑↓]+(?:[kKMBG]|ms|s|h|GB|MB)?")
_COMMA = re.compile(r"(?<![\d.,])(?P<whole>\d+|\d{1,3}(?:[.\u2009']\d{3})+),(?P<part>\d+)(?![\d,.]*\d)")
_POINT = re.compile(r"\d\.\d")
_SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?")
Rows = list[list[SourceCell]]


def is_decimal(whole: str, part: str) -> bool:
    """Return whether the comma between two strings of digits cannot part thousands, e.g. "18" and "4"."""
    return len(part) != 3 or whole.startswith("0") or len(whole) > 3


def with_points(rows: Rows) -> Rows:
    """Return the rows of a table with decimal points. A comma before three digits is decimal if the table has
    other decimal commas and no decimal points."""
    rows = _without_blanks(rows)
    texts = [cell.text for row in rows for cell in row if _NUMERIC.fullmatch(cell.text)]
    commas = [match for text in texts for match in _COMMA.finditer(text)]
    sure = [match for match in commas if is_decimal(match["whole"], match["part"])]
    if not sure:
        return rows
    rest = " ".join(_COMMA.sub("", text) for text in texts)
    return _with_points(rows, is_always=_POINT.search(rest) is None)


def _without_blanks(rows: Rows) -> Rows:
    """Return rows with "532 761" as "532761"."""
    cells = {id(cell): cell for row in rows for cell in row if _SPACED.fullmatch(cell.text)}
    made = {key: replace(cell, text=cell.text.replace(" ", "")) for key, cell in cells.items()}
    return [[made.get(id(cell), cell) for cell in row] for row in rows] if made else rows


def _with_points(rows: Rows, *, is_always: bool) -> Rows:
    def point(match: re.Match[str]) -> str:
        whole, part = match["whole"], match["part"]
        if is_always or is_decimal(whole, part):
            return f"{re.sub(r'[^0-9]', '', whole)}.{part}"
        return match[0]

    def changed(cell: SourceCell) -> SourceCell:
        is_number = _NUMERIC.fullmatch(cell.text)
        text = _COMMA.sub(point, cell.text) if is_number else cell.text
        return cell if text == cell.text else replace(cell, text=text)

    made = {id(cell): changed(cell) for row in rows for cell in row}
    return [[made[id(cell)] for cell in row] for row in rows]


def prose_with_points(prose: list[tuple[Place, str]]) -> list[tuple[Place, str]]:
    """Return paragraphs with decimal points in numbers such as "18,4", if most of their numbers are such."""
    text = " ".join(text for _, text in prose)
    commas = [match for match in _COMMA.finditer(text) if is_decimal(match["whole"], match["part"])]
    if len(commas) <= len(_POINT.findall(text)):
        return prose

    def point(match: re.Match[str]) -> str:
        is_number = is_decimal(match["whole"], match["part"])
        return f"{match['whole']}.{match['part']}" if is_number else match[0]

    return [(place, _COMMA.sub(point, text)) for place, text in prose]


_SCALES = {"k": 3, "K": 3, "M": 6, "B": 9, "G": 9}


def scaled(text: str) -> Decimal | None:
    """Return a number with a unit or exponent, e.g. 8800000 for "8.8M" and 1200 for "1.2e3", or None."""
    if match := re.fullmatch(r"([-+]?(?:\d+(?:\.\d+)?|\.\d+))(?:[eE×x]\s?(?:10\^?)?([-+−]?\d{1,2}))", text):
        return Decimal(match[1]).scaleb(int(match[2].replace("−", "-")))
    match = re.fullmatch(r"([-+]?(?:\d+(?:\.\d+)?|\.\d+))\s?([kKMBG])", text)
    return Decimal(match[1]).scaleb(_SCALES[match[2]]) if match else None
