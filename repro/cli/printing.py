"""Print results, e.g. tables, on standard output, and messages on standard error."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from repro.errors import one_line, visible
from repro.machine.bounded_reading import short_names


def emit_json(value) -> None:
    """Print a value as JSON, a list with one item per line."""
    if isinstance(value, list):
        body = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
        print(f"[\n{body}\n]" if value else "[]")
    else:
        print(json.dumps(value, ensure_ascii=False, indent=1))


def console():
    from rich.console import Console

    force = {"force_terminal": True} if _held is not None and not os.environ.get("NO_COLOR") else {}
    return Console(highlight=False, width=width(), **force)


def width() -> int:
    """Return the terminal's width or COLUMNS, or ``UNLIMITED`` if the output is not a terminal."""
    from repro.writers.sheet import UNLIMITED

    return shutil.get_terminal_size().columns if _is_for_eyes(sys.stdout) else UNLIMITED


def _is_for_eyes(stream: TextIO) -> bool:
    columns = os.environ.get("COLUMNS", "")
    return stream.isatty() or (columns.isdecimal() and int(columns) > 0)


def show(renderable) -> None:
    """Print a text or a rich object without cropping its lines."""
    from rich.text import Text

    console().print(Text(visible(renderable)) if isinstance(renderable, str) else renderable, crop=False)


def put(line: object) -> None:
    print(visible(line))


def say(sentence: object) -> None:
    """Print a sentence on standard error, wrapped for a terminal. A pager delays it."""
    sentence = short_names(one_line(sentence))
    if _is_for_eyes(sys.stderr):
        columns = shutil.get_terminal_size().columns
        sentence = textwrap.fill(sentence, columns, break_long_words=False, break_on_hyphens=False)
    if _held is not None:
        return _held.append(sentence)
    sys.stdout.flush()
    print(sentence, file=sys.stderr)


def in_words(reasons: Counter[str]) -> str:
    """Return counts as text, e.g. "blocked (3), failed (1)"."""
    return ", ".join(f"{reason} ({number})" for reason, number in reasons.items())


def say_each(sentences: Iterable[str]) -> None:
    for sentence in dict.fromkeys(sentences):
        say(sentence)


_held: list[str] | None = None  # sentences delayed until a pager ends


def emit_csv(rows: Sequence[Mapping[str, object]], head: Sequence[str] = ()) -> None:
    """Print objects as CSV. The columns are their keys, or ``head`` if there are no objects."""
    import csv

    names = list(dict.fromkeys(name for row in rows for name in row)) or head
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        texts = {k: " | ".join(v) if isinstance(v, list) else v for k, v in row.items()}
        writer.writerow({k: visible(v) if isinstance(v, str) else v for k, v in texts.items()})


def table(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    multiline: bool = False,
) -> None:
    """Print a table. Columns with an index in ``right`` are right-aligned."""
    from rich.console import Group
    from rich.text import Text

    from repro.writers.sheet import Column, Sheet

    columns = [Column(name, right=number in right) for number, name in enumerate(head)]
    sheet = Sheet(columns, [[Text(c) for c in row] for row in rows], multiline)
    show(Group(*([Text(visible(title), style="bold")] if title else []), sheet, Text()))


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Show standard output in a pager (REPRO_PAGER, PAGER or less) if it is a terminal.

    Messages on standard error are printed when the pager has ended.
    """
    global _held
    words = shlex.split(os.environ.get("REPRO_PAGER") or os.environ.get("PAGER") or "less")
    if not sys.stdout.isatty() or words[:1] in ([], ["cat"]) or not shutil.which(words[0]):
        yield
        return
    columns = str(shutil.get_terminal_size().columns)
    environment = {"LESS": "FRX", **os.environ}  # exits after a short text and keeps colours
    pager = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    terminal = os.dup(sys.stdout.fileno())
    assert pager.stdin is not None
    os.dup2(pager.stdin.fileno(), sys.stdout.fileno())
    pager.stdin.close()
    os.environ["COLUMNS"] = columns
    _held = []
    try:
        yield
        sys.stdout.flush()
    finally:
        os.dup2(terminal, sys.stdout.fileno())
        os.close(terminal)
        pager.wait()
        sentences, _held = _held, None
        for sentence in sentences:
            print(sentence, file=sys.stderr)
