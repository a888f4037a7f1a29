r"""Uninterpreted tables of a source, e.g. ``\textbf{36.6}$^\dagger$`` as a bold cell "36.6" with mark †."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

from repro.errors import DataError
from repro.plugins.manuscripts.notation import MARKS, NUMERIC, SPACED, count_commas, with_point

CHOICE = "is the paper. Not read:"
MOST_CELLS = 100_000  # per table


@dataclass(frozen=True)
class Place:
    """A line of a file, counted from 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


Parts = list[tuple[Place, str]]  # paragraphs or unread parts


@dataclass(frozen=True)
class SourceCell:
    """A cell, e.g. with marks ``("†", "*")``. All ``columns`` that it spans share the object."""

    text: str
    place: Place
    bold: bool = False
    underlined: bool = False
    marks: tuple[str, ...] = ()
    columns: int = 1
    shade: str = ""
    parts: tuple["SourceCell", ...] = ()  # of a pair, e.g. "45.3 / 60.0"

    @property
    def is_styled(self) -> bool:
        return self.bold or self.underlined or bool(self.shade)


@dataclass(frozen=True)
class SourceTable:
    """A table with rows of equal length. ``rules`` are the body rows below a line, ``full_rules`` those below
    a line of full width. ``legend`` has notes and footnotes."""

    place: Place
    head: tuple[tuple[SourceCell, ...], ...]
    body: tuple[tuple[SourceCell, ...], ...]
    rules: frozenset[int] = frozenset()
    caption: str = ""
    label: str = ""
    number: str = ""
    legend: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    full_rules: frozenset[int] = frozenset()

    @cached_property
    def width(self) -> int:
        return max((len(row) for row in (*self.head, *self.body)), default=0)


@dataclass(frozen=True)
class Manuscript:
    """The tables and paragraphs of a source. ``labels`` maps labels to numbers. ``lost`` are unread parts."""

    path: Path
    tables: tuple[SourceTable, ...]
    prose: tuple[tuple[Place, str], ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    title: str = ""
    lost: tuple[tuple[Place, str], ...] = ()

    @property
    def files(self) -> dict[Path, None]:
        rows = (row for table in self.tables for row in (*table.head, *table.body))
        places = [*(cell.place for row in rows for cell in row), *(place for place, _ in self.prose)]
        return dict.fromkeys(place.file for place in places)


def check_size(cells: int, where: Place | Path) -> None:
    if cells > MOST_CELLS:
        raise DataError(f"{where}: The table has more than {MOST_CELLS:,} cells, the limit.")


class Style(NamedTuple):
    """A style. ``script`` is ``^`` for superscripts and ``_`` for subscripts."""

    bold: bool = False
    underlined: bool = False
    script: str = ""


class Piece(NamedTuple):
    text: str
    style: Style


def plain(pieces: Iterable[Piece]) -> str:
    return _tidy("".join(piece.text for piece in pieces))


def _tidy(text: str) -> str:
    text = re.sub(r"(?<=\d)\u2009(?=\d{3})", "", text)  # a thin space parts thousands
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*([±×])\s*", r"\1", text)
    text = re.sub(r"\(\s*[,;]*\s*\)|\[\s*[,;]*\s*\]", "", text)  # of a removed citation
    return text.replace(" ,", ",").strip()


_NUMBER_BEFORE = re.compile(r"\d[%)]?\s*$")
_DIFFERENCE = re.compile(r"\(?[-+−↑↓]\s*\d*\.?\d")
_BASE_BEFORE = re.compile(r"(?:^|[^\d.])10$|(?:^|[^A-Za-z])[A-Za-z]$")


def styled(pieces: Iterable[Piece], place: Place, *, columns: int = 1) -> SourceCell:
    """Return a cell with marks separated from the text. The first letter or digit determines its style."""
    text, marks = "", list[str]()
    said = [piece for piece in pieces if piece.text]
    groups = [(script, list(group)) for script, group in groupby(said, key=lambda p: p.style.script)]
    for (script, part), (following, _) in pairwise([*groups, ("", [])]):
        if script:
            more, raised = _script(script + following, plain(part), text)
            text, marks = text + more, marks + raised
        else:
            text += "".join(piece.text for piece in part)
    text = _tidy(text)
    before, inner_text, after = text.partition(text.strip(MARKS + " ") or text or " ")
    marks = [*_marks(before), *_marks(after), *marks]
    bold, underlined, _ = next(filter(None, map(_style_of, said)), Style())
    parts = tuple(_parts(said, place)) if "/" in text else ()
    return SourceCell(inner_text, place, bold, underlined, tuple(marks), columns, parts=parts)


def _parts(pieces: Iterable[Piece], place: Place) -> Iterator[SourceCell]:
    parts: list[list[Piece]] = [[]]
    for piece in pieces:
        first, *others = (piece._replace(text=text) for text in piece.text.split("/"))
        parts[-1].append(first)
        parts += [[other] for other in others]
    yield from (styled(part, place) for part in parts)


def _style_of(piece: Piece) -> Style | None:
    has_letter = any(map(str.isalnum, piece.text))
    return piece.style if has_letter and not piece.style.script else None


def _script(script: str, content: str, before: str) -> tuple[str, list[str]]:
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
    is_letters = content.isalpha() and content.islower() and (of_number or not before.strip())
    if content == "footnote" or is_letters:
        return True
    words = [word.strip("()" + MARKS) for word in re.split(r"[,;\s]+", content)]
    return all(len(word) <= 1 or word.isdigit() for word in words)


def _marks(text: str) -> list[str]:
    if text.isalpha() and text != "footnote":
        return list(text)
    return re.findall(r"\*+|footnote|\d+|[^\s,;()]", text.replace("∗", "*"))


Rows = list[list[SourceCell]]
_BRACKETS = re.compile(r"\([^)]*\)|\[[^]]*\]")


def uneven(rows: Sequence[tuple[Place, int]]) -> Iterator[tuple[Place, str]]:
    """Yield (place, sentence) for a few longer rows, or one shorter row. ``rows`` has (place, length)."""
    usual, often = next(iter(Counter(width for _, width in rows).most_common(1)), (0, 0))
    odd = [(place, width) for place, width in rows if usual != width > 1]
    is_clear = often > 2 or {*dict(rows[1:]).values()} == {usual, usual - 1}
    for place, width in odd if len(odd) <= max(1, often // 3) else ():
        if width > usual or (len(odd) == 1 and is_clear):
            yield place, f"This row has {width} cells, and the others have {usual}"


def with_points(rows: Rows) -> Rows:
    """Return rows with points for decimal commas and no blanks in numbers. A comma before three digits is
    decimal if the table has other ones and no points. One in brackets needs others in its column."""
    numeric = {id(c): c for row in rows for c in row if NUMERIC.fullmatch(c.text)}
    for column in zip_longest(*rows):
        own = [c for c in column if c and id(c) in numeric]
        if not count_commas(_BRACKETS.sub("", cell.text) for cell in own)[0]:
            for cell in own:
                if _BRACKETS.search(cell.text):
                    numeric.pop(id(cell), None)
    commas, points = count_commas(cell.text for cell in numeric.values())
    for key, cell in numeric.items():
        text = re.sub(r"(?<=\d) (?=\d{3})", "", cell.text) if SPACED.fullmatch(cell.text) else cell.text
        numeric[key] = replace(cell, text=with_point(text, is_always=not points) if commas else text)
    return [[numeric.get(id(c), c) for c in row] for row in rows]


def prose_with_points(prose: Parts) -> Parts:
    """Return paragraphs with decimal points instead of commas if most of their numbers have commas."""
    commas, points = count_commas(text for _, text in prose)
    return [(place, with_point(text)) for place, text in prose] if commas > points else prose
