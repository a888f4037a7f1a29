"""Printing: results on standard output, JSON for programs, tables for people."""

import json
import shutil
import sys
from collections.abc import Sequence

WIDTH_OF_A_FILE = 160  # what a table may take when no terminal says how wide it is


def emit_json(value) -> None:
    """JSON on standard output, one record a line inside the list, readable by people and programs."""
    if isinstance(value, list):
        body = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
        print(f"[\n{body}\n]" if value else "[]")
    else:
        print(json.dumps(value, ensure_ascii=False, indent=1))


def console(stderr: bool = False):
    """A rich console on standard output, as wide as the terminal or as a file may be."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else max(WIDTH_OF_A_FILE, shutil.get_terminal_size((0, 0)).columns)
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> None:
    """A table with a bold title and a ruled head, brackets as they are; ``right`` are columns of numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    console().print(shown)


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
