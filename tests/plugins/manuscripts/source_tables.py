"""Tables as a reader of sources returns them, built by hand."""

import re
from pathlib import Path

from repro.plugins.manuscripts.source_tables import Manuscript, Place, SourceCell, SourceTable

FILE = Path("paper.tex")


def table(head: str, body: str, caption: str = "", *, label: str = "", first: int = 1) -> SourceTable:
    """Return a table: cells are separated by bars, ``<`` repeats a cell, and a line of dashes is a rule."""
    lines = [line.strip() for line in head.strip().splitlines()]
    head_rows = tuple(_cells(line, number) for number, line in enumerate(lines, start=first))
    body_lines = [line.strip() for line in body.strip().splitlines()]
    numbered = list(enumerate(body_lines, start=first + len(lines)))
    body_rows = tuple(_cells(line, number) for number, line in numbered if line.strip("-"))
    rules = frozenset(
        n - sum(not text.strip("-") for text in body_lines[:n])
        for n, line in enumerate(body_lines)
        if not line.strip("-")
    )
    width = max(map(len, (*head_rows, *body_rows)))
    whole = tuple(row * width if len(row) == 1 else row for row in body_rows)  # a heading over all columns
    return SourceTable(Place(FILE, first), head_rows, whole, rules, caption, label)


def source(*tables: SourceTable) -> Manuscript:
    """Return a source with these tables, each under the number that its label ends in."""
    return Manuscript(FILE, tables, labels={each.label: each.label.rpartition(":")[2] for each in tables})


def cell(text: str, number: int = 1) -> SourceCell:
    """Return a cell of a line: ``**36.6*†**`` is bold with two marks, ``_36.6_`` underlined."""
    style = {"**": "bold", "_": "underlined"}
    edge = next((edge for edge in style if len(text) > 2 * len(edge) and text.startswith(edge)), "")
    bare = text.removeprefix(edge).removesuffix(edge)
    match = re.fullmatch(r"(.*?[^*†‡])([*†‡]+)(\s\(.*\))?", bare)
    marks, bare = (tuple(match[2]), match[1] + (match[3] or "")) if match else ((), bare)
    return SourceCell(bare, Place(FILE, number), marks=marks, **({style[edge]: True} if edge else {}))


def _cells(line: str, number: int) -> tuple[SourceCell, ...]:
    cells: list[SourceCell] = []
    for text in (part.strip() for part in line.split("|")):
        cells.append(cells[-1] if text == "<" else cell(text, number))
    return tuple(cells)
