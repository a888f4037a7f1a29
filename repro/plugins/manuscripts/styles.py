"""Text with styles as a reader of the paper sees it, and marks apart from what they mark."""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from repro.plugins.manuscripts.tables import Place, SourceCell


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
    """Return the cell that stands at a place, with its text and its marks apart.

    Raised symbols, letters and numbers are marks, and so are symbols at either end. A raised or lowered
    deviation (``36.6_{\\pm0.1}``) stays in the text, a difference in brackets: ``36.6 (+1.2)``. Bold,
    underlined and italic is a cell whose first letter or digit is.
    """
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
    """Return what a raised or lowered text adds to the line, and the marks that it is.

    ``script`` is ``^_`` for a raised text before a lowered one: letters of a variable then, as in w^c_i.
    """
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
    """Return a lowered text in the line, apart from a number."""
    return f" ({content})" if of_number and content[:1].isdigit() else content


def _are_marks(content: str, before: str, of_number: bool) -> bool:
    """Return whether a raised text is signs, single letters or numbers, and no ending of a word."""
    if content in ("st", "nd", "rd", "th", "'", "′"):
        return False
    if content == "footnote" or (
        content.isalpha() and content.islower() and (of_number or not before.strip())
    ):
        return True
    words = [word.strip("()" + _SYMBOLS) for word in re.split(r"[,;\s]+", content)]
    return all(len(word) <= 1 or word.isdigit() for word in words)


def _marks(text: str) -> list[str]:
    """Return marks one by one; stars that touch are one, and so are digits."""
    if text.isalpha() and text != "footnote":
        return list(text)
    return re.findall(r"\*+|footnote|\d+|[^\s,;()]", text.replace("∗", "*"))
