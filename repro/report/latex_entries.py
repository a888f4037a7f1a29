"""What stands in one place of a LaTeX table: a number aligned at its point, with what follows it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from repro.judging.comparison import Compared, Comparison
from repro.judging.verdict import prediction_half_width
from repro.report.numbers import shown

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "–": "--",
    "—": "---",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    ">": r"$>$",
    "<": r"$<$",
    "é": r"\'e",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "±": r"$\pm$",
}
SYMBOLS = {
    "exact": r"$=$",
    "consistent": r"$\approx$",
    "within tolerance": r"$\sim$",
    "lower": r"$\downarrow$",
    "higher": r"$\uparrow$",
    "inconclusive": "?",
    "modified": "m",
    "scaled": "s",
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LINES = ("print", "ours", "difference", "interval")


def escape(text: str) -> str:
    """Text with LaTeX's special characters made harmless; raised and lowered digits become scripts."""
    return "".join(_ESCAPES.get(character) or _script(character) for character in text)


def _script(character: str) -> str:
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    if kind not in ("<sub>", "<super>"):
        return character
    return f"${'_' if kind == '<sub>' else '^'}{{{chr(int(code, 16))}}}$"


@dataclass(frozen=True)
class Entry:
    """A number with what follows it, or text."""

    number: str = ""
    after: str = ""
    bold: bool = False
    text: str = ""

    @property
    def code(self) -> str:
        """As it stands in a column of type S."""
        if not self.number:
            return f"{{{self.text}}}" if self.text else ""
        after = f"{{{self.after}}}" if self.after else ""
        return ("\\bfseries " if self.bold else "") + self.number + after


def column_type(entries: Sequence[Entry]) -> str:
    """``S[…]`` with room for the longest number and for the widest of what follows one."""
    numbers = [e.number.partition(".") for e in entries if e.number]
    before = max((len(whole.lstrip("+-")) for whole, _, _ in numbers), default=1)
    behind = max((len(rest) for _, _, rest in numbers), default=0)
    sign = "+" if any(whole[0] in "+-" for whole, _, _ in numbers) else ""
    widest = max((e.after for e in entries), key=len, default="")
    room = f",table-space-text-post={{{widest}}}" if widest else ""
    return f"S[table-format={sign}{before}.{behind}{room}]"


def names(rows: Sequence[str]) -> dict[str, str]:
    """A letter for each row, numbers where there are more rows than letters."""
    few = len(rows) <= len(LETTERS)
    return {row: LETTERS[i] if few else str(i + 1) for i, row in enumerate(rows)}


def entry(line: str, c: Compared, comparison: Comparison, named: dict[str, str]) -> Entry:
    """What one of ``LINES`` says of a cell; empty where it has nothing to say."""
    return {"print": _printed, "difference": _difference, "interval": _interval}.get(
        line, lambda cell: _ours(cell, comparison, named)
    )(c)


def _printed(c: Compared) -> Entry:
    printed = c.cell.printed
    marks = rf"\textsuperscript{{{escape(printed.marks)}}}" if printed.marks else ""
    if re.fullmatch(r"[-+]?\d+(\.\d+)?", printed.plain):
        return Entry(printed.plain, marks, printed.bold)
    return Entry(text=escape(printed.plain) + marks)


def _ours(c: Compared, comparison: Comparison, named: dict[str, str]) -> Entry:
    if c.measured is None:
        return Entry(text="--")
    separator = "" if set(named.values()) <= set(LETTERS) else ","
    beaten = separator.join(named[row] for row in comparison.betters(c) if row in named)
    symbol = SYMBOLS.get(c.verdict.name, "")
    raised = rf"\textsuperscript{{{beaten}}}" if beaten else ""
    return Entry(shown(c.measured, c.cell), rf"\,{symbol}{raised}")


def _difference(c: Compared) -> Entry:
    if c.measured is None or c.verdict.difference is None:
        return Entry()
    number = shown(c.verdict.difference, c.cell)
    return Entry(number if number.startswith("-") else f"+{number}")


def _interval(c: Compared) -> Entry:
    """Half the 95 % prediction interval over seeds, where there are several."""
    if len(c.records) < 2:
        return Entry()
    half = prediction_half_width([Decimal(f"{r.measured:.12g}") for r in c.records])
    return Entry(text=rf"$\pm${shown(float(half), c.cell)}")
