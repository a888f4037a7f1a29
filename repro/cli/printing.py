"""Printing: results on standard output, JSON for programs, tables for people."""

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

MOST_NAMES = 10  # of those that there are, where one is not known


def emit_json(value) -> None:
    """Print JSON, one record a line inside the list, readable by people and programs."""
    if isinstance(value, list):
        body = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
        print(f"[\n{body}\n]" if value else "[]")
    else:
        print(json.dumps(value, ensure_ascii=False, indent=1))


def with_few_names(sentence: str) -> str:
    """Return a sentence by ``repro.errors.unknown`` with ten known names at most, the nearest first.

    There it would be code that numbers on record rest on, which counts as other code once it is edited.
    """
    import difflib

    parts = re.match(
        r"(.*(['\"])(.*?)\2(?: \(did you mean .*\?\))?; known: )([^;]+)(.*)", sentence, re.DOTALL
    )
    names = parts[4].removesuffix(", …").split(", ") if parts else []
    if len(names) <= MOST_NAMES:
        return sentence
    lower = {name.lower(): name for name in names}
    nearest = difflib.get_close_matches(parts[3].lower(), lower, n=MOST_NAMES, cutoff=0)
    others = "" if parts[4].endswith("…") else f"{len(names) - len(nearest)} "
    return f"{parts[1]}{', '.join(map(lower.get, nearest))} and {others}more{parts[5]}"


def laid_out(*, error: bool = False) -> bool:
    """Whether tables are for eyes: standard output is a terminal, or COLUMNS says how wide one would be.

    Anything else is for programs, which want a line a cell whatever its length.

    Args:
        error: of standard error instead.
    """
    from rich.console import Console

    return Console(stderr=error).is_terminal or bool(_stated_width())


def console():
    """A rich console on standard output, as wide as the terminal."""
    from rich.console import Console

    width_unknown = _stated_width() == 0  # as a terminal says that knows no width
    return Console(highlight=False, width=shutil.get_terminal_size().columns if width_unknown else None)


def _stated_width() -> int | None:
    """The width that the environment states; None where it states none."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else None


def show(renderable) -> None:
    """Print what rich can; a word that is wider than the terminal is left to the terminal, not cut off."""
    console().print(renderable, crop=False)


def say(sentence: str, *, error: bool = False) -> None:
    """Print a sentence, on standard error if asked to, with line ends between words where it is for eyes."""
    if laid_out(error=error):
        width = shutil.get_terminal_size().columns
        sentence = textwrap.fill(sentence, width, break_long_words=False, break_on_hyphens=False)
    print(sentence, file=sys.stderr if error else sys.stdout)


def emit_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a line for the head and each row, with tabs between fields as ``cut`` reads them."""
    for row in [head, *rows]:
        print("\t".join(" ".join(field.split()) for field in row))


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> None:
    """Print a table below its bold title, brackets as they are; a line a row where a program reads it.

    Args:
        right: places of columns of numbers.
    """
    if not laid_out():
        print(title)
        emit_lines(head, rows)
        return print()
    from rich.console import Group
    from rich.text import Text

    label_count = _label_count(rows)
    sheet = _sheet(head, rows, right, labels=label_count or 1)
    panels = sheet.panel_widths(width := console().width)
    # which lines belong together would not be seen, or what tells it leaves no room for the rest
    if (len(panels) > 1 and not label_count) or (max(panels) > width and label_count != 1):
        numbered_rows = [[str(number), *row] for number, row in enumerate(rows, 1)]
        sheet = _sheet(["no.", *head], numbered_rows, [place + 1 for place in right], labels=1)
    show(Group(Text(title, style="bold"), sheet, Text()))


def _sheet(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int], *, labels: int):
    from rich.text import Text

    from repro.report.sheet import Column, Sheet

    columns = [Column(name, right=number in right) for number, name in enumerate(head)]
    return Sheet(columns, labels=labels, rows=[[Text(cell) for cell in row] for row in rows])


def _label_count(rows: Sequence[Sequence[str]]) -> int | None:
    """The number of first columns that tell the rows apart; None where nothing does."""
    counts = range(1, len(rows[0])) if rows else ()
    return next((n for n in counts if len({tuple(row[:n]) for row in rows}) == len(rows)), None)


def show_transfer(transfer) -> int:
    """Print the outcome of sending or fetching artefacts; exit status 4 if none was there."""
    if transfer.obstacles:
        print(
            "fingerprints follow from data and checkpoints; what is absent may be there under others, as "
            "these are not here:",
            file=sys.stderr,
        )
    for obstacle in transfer.obstacles:
        print(f"  {obstacle.cause}; {obstacle.remedy}", file=sys.stderr)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in transfer.counts.items())
    print(f"{sum(transfer.counts.values())} artefacts: {counts}")
    return 4 if transfer.is_empty else 0
