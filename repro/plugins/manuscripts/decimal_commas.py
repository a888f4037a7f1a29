"""Decimal commas as decimal points, e.g. "18,4" becomes "18.4" and "12,345" remains a count."""

import re
from dataclasses import replace
from decimal import Decimal

from repro.plugins.manuscripts.source_tables import Place, SourceCell

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
