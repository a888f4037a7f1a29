"""Cells of a source as the strings of cells.yaml, and the scope of their bold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from repro.manifest.printed import DASHES, PublishedCell, parse
from repro.plugins.manuscripts.tables import SourceCell

MARKS = "*†‡"  # the superscripts that a published string may have
_BEGINNING = re.compile(r"([<>≤≥~]?\s*[-+−]?)(\d[\d,]*(?:\.\d+)?|\.\d+)\s*(GB|MB|k|%)?(?![\dA-Za-z])")


@dataclass(frozen=True)
class Transcription:
    """A cell as a published string.

    Attributes:
        text: with bold and marks, as ``repro.manifest.printed`` reads it.
        remainder: what of the cell the string does not say; "" where it says all.
    """

    text: str
    remainder: str = ""

    @property
    def number(self) -> Decimal | None:
        """Return its number; None for a dash and for words."""
        return parse(self.text).value


def transcribe(cell: SourceCell) -> Transcription:
    """Return a cell's published string; a dash, and all of it as the remainder, where it would be garbled."""
    text = cell.text.strip()
    if text in DASHES:
        return Transcription("-")
    marks = "".join(filter(MARKS.__contains__, cell.marks))
    others = " ".join(mark for mark in cell.marks if mark not in MARKS)
    number, bracket, delta = text.partition(" (")
    whole = parse(f"{number}{marks}{bracket}{delta}")
    if not whole.is_garbled and (whole.value is not None or not marks):
        return Transcription(_bold(whole.text, cell), others)
    beginning = _BEGINNING.match(text)
    if beginning is None:
        return Transcription("-", _joined(text, *cell.marks))
    sign, digits, unit = beginning.groups(default="")
    plain = digits.replace(",", "")
    plain = f"0{plain}" if plain.startswith(".") else plain
    rest = text[beginning.end() :].strip()
    return Transcription(_bold(f"{sign}{plain}{unit}{marks}", cell), _joined(rest, others))


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _bold(text: str, cell: SourceCell) -> str:
    return f"**{text}**" if cell.bold else text


def bold_scope(columns: Sequence[Sequence[str]], groups: Sequence[str]) -> str:
    """Return within what bold marks the best: ``column``, ``group``, ``none`` without bold, else ``unknown``.

    Args:
        columns: the strings of each column, from the first row down.
        groups: the heading that each row stands under.
    """
    whole = [[parse(text) for text in column] for column in columns]
    if not any(cell.bold for column in whole for cell in column):
        return "none"
    if all(map(_marks_best, whole)):
        return "column"
    in_groups = [part for column in whole for part in _parts(column, groups)]
    return "group" if all(map(_marks_best, in_groups)) else "unknown"


def _parts(cells: Sequence[PublishedCell], groups: Sequence[str]) -> list[list[PublishedCell]]:
    parts: dict[str, list[PublishedCell]] = {}
    for cell, group in zip(cells, groups, strict=True):
        parts.setdefault(group, []).append(cell)
    return list(parts.values())


def _marks_best(cells: Sequence[PublishedCell]) -> bool:
    """Return whether cells in bold, one at least, are those with the greatest number, or hold none."""
    numbers = [cell.value for cell in cells if cell.value is not None]
    if not numbers:
        return True
    best = [cell.value == max(numbers) for cell in cells if cell.value is not None]
    return best == [cell.bold for cell in cells if cell.value is not None]
