"""The entries of a table in LaTeX: a number, or words in its place, and what follows it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from repro.verdicts.beside import Beside
from repro.verdicts.compared import ComparedCell
from repro.verdicts.verdict import prediction_half_width
from repro.writers.grid import rounded, shown_run
from repro.writers.latex_text import SYMBOLS, escape, raised


@dataclass(frozen=True)
class Entry:
    """A number, or words in its place, with what follows it."""

    number: str = ""
    after: str = ""
    bold: bool = False

    @property
    def code(self) -> str:
        """The number as LaTeX, with signs as long as its digits are wide."""
        number = re.sub(r"^[+-](?=\d)", lambda sign: f"${sign[0]}$", self.number)
        return rf"\textbf{{{number}}}" if self.bold else number


def published_entry(c: ComparedCell | None) -> Entry:
    """The published number as the paper prints it, its marks raised; a dash where there is none."""
    if c is None:
        return Entry("--")
    value = c.cell.printed
    return Entry(escape(value.plain), raised(escape(value.marks)), value.bold)


def difference(c: ComparedCell | None) -> Entry:
    """Ours less the published number, and what follows for the verdict."""
    if c is None or c.measured is None or c.verdict.difference is None:
        return Entry()
    number = rounded(c.verdict.difference, c.cell)
    sign = SYMBOLS.get(c.verdict.name, "")
    return Entry(number if number.startswith("-") else f"+{number}", rf"\,{sign}" if sign else "")


def by_others(c: ComparedCell | None) -> Entry:
    """The last of the runs that others made, which is no measurement of ours, and its verdict."""
    if c is None or not c.imported:
        return Entry()
    run = c.imported[-1]
    sign = SYMBOLS.get(run.verdict.name, "")
    return Entry(shown_run(run, c.cell), rf"\,{sign}" if sign else "")


def entry_beside(c: ComparedCell | None, kind: Beside) -> Entry:
    """Return the closest value of a kind, the letter of its making raised, and how many there are."""
    values = c.beside.get(kind.name) if c else None
    if values is None:
        return Entry()
    count = rf"{{\scriptsize\,({values.count})}}" if values.count > 1 else ""
    return Entry(values.shown, raised(values.letter) + count)


def interval(c: ComparedCell) -> str:
    """Half the 95 % prediction interval over seeds, where there are several."""
    if len(c.records) < 2:
        return ""
    half = prediction_half_width([Decimal(f"{r.measured:.12g}") for r in c.records])
    return rf"{{\scriptsize$\,\pm\,${rounded(float(half), c.cell)}}}"


def in_line(entries: Sequence[Entry]) -> list[Entry]:
    """Numbers that end alike: those with fewer decimals are followed by the room of the others'."""
    decimals = [len(entry.number.partition(".")[2]) for entry in entries]
    maximum = max(decimals)
    return [
        replace(entry, after=rf"\phantom{{{'.' * (not count)}{'0' * (maximum - count)}}}{entry.after}")
        if has_digit(entry) and count < maximum
        else entry
        for entry, count in zip(entries, decimals, strict=True)
    ]


def has_digit(entry: Entry) -> bool:
    """Whether an entry holds a number, and no dash or words in its place."""
    return any(map(str.isdigit, entry.number))
