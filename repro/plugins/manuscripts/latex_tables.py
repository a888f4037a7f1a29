"""The tables of LaTeX: rows, cells over several columns and rows, rules."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from repro.plugins.manuscripts.flat_text import Expanded
from repro.plugins.manuscripts.heads import head_length, stacked
from repro.plugins.manuscripts.latex_names import names
from repro.plugins.manuscripts.latex_text import Words, arguments, kind
from repro.plugins.manuscripts.styles import plain, styled
from repro.plugins.manuscripts.tables import SourceCell, SourceTable, check_size

_PARTIAL_RULE = re.compile(
    r"\\(?:cmidrule|cline|cdashline|Xcline|cdashlinelr)\s*(?:\[[^\]]*\])?\s*(?:\([^)]*\))?\s*\{(\d+)\s*-+\s*(\d+)\}"
    r"(?:\[[^\]]*\]|\([^)]*\))?(?:\s*\{[^{}]*\})?"
)
_ENDS = ("\\", "tabularnewline", "cr")
_ENDS_OF_PARTS = ("endhead", "endfirsthead", "endfoot", "endlastfoot")
_SPAN_LIMIT = 200


@dataclass
class _Raw:
    """Rows of cells, each a list of nodes; a rule by its row and the columns that it covers, None for all."""

    rows: list[list[list[Any]]] = field(default_factory=list)
    rules: list[tuple[int, tuple[int, int] | None]] = field(default_factory=list)
    row: list[list[Any]] = field(default_factory=lambda: [[]])
    head: int | None = None  # rows that a long table has at its beginning

    def end_row(self) -> None:
        """Close the row under way."""
        self.rows.append(self.row)
        self.row = [[]]

    def end(self) -> None:
        """Close the row under way where something is written in it."""
        if len(self.row) > 1 or is_written(self.row[0]):
            self.end_row()
        self.row = [[]]

    def end_part(self, name: str) -> None:
        """Close the head of a long table; drop its repetition on further pages, and the feet."""
        self.end()
        if self.head is None and name in ("endhead", "endfirsthead"):
            self.head = len(self.rows)
        del self.rows[self.head or 0 :]
        self.rules = [(min(at, len(self.rows)), over) for at, over in self.rules]


class Tabular:
    """One tabular of a source, from its node; ``offset`` is where the parsed text begins in the flat text."""

    def __init__(self, node: Any, flat: Expanded, offset: int, words: Words):
        """Take the node as pylatexenc reads it."""
        self.node, self.flat, self.offset, self.words = node, flat, offset, words
        self.notes: list[str] = []

    def tables(self, *, caption: str, label: str, number: str, legend: tuple[str, ...]) -> list[SourceTable]:
        """Return the table, or those that stand above each other in it.

        None is in what only lays something out: one row, one column, pictures.
        """
        raw = self._raw()
        grid, width = self._grid(raw)
        kept = [i for i, row in enumerate(grid) if any(cell.text or cell.marks for cell in row)]
        if len(kept) < 2 or width < 2:
            return []
        rows = [tuple(grid[i]) for i in kept]
        rules = [(sum(i < at for i in kept), over in (None, (1, width))) for at, over in raw.rules]
        head = head_length(rows, [at for at, is_full in rules if is_full])
        place = self.flat.place(self.offset + self.node.pos)
        if self.words.unknown:
            self.notes.append(f"{place}: not known what {', '.join(sorted(self.words.unknown))} prints")
        return [
            SourceTable(
                place=rows[start][0].place if start else place,
                head=tuple(rows[start : start + head]),
                body=tuple(rows[start + head : end]),
                rules=frozenset(at - start - head for at, _ in rules if start + head < at < end),
                caption=caption,
                label=label,
                number=number,
                legend=(*legend, *self.words.footnotes),
                notes=tuple(self.notes),
            )
            for start, end in stacked(rows, head)
        ]

    def _raw(self) -> _Raw:
        """Part the nodes of the tabular at ``&`` and ``\\\\``."""
        raw, until = _Raw(), 0
        for node in self.node.nodelist:
            if node is None or node.pos + node.len <= until:
                continue
            name = getattr(node, "macroname", "")
            if name in names("rules"):
                raw.rules.append((len(raw.rows), None))
            elif name in _ENDS:
                raw.end_row()
            elif name in _ENDS_OF_PARTS:
                raw.end_part(name)
            elif getattr(node, "specials_chars", "") == "&":
                raw.row.append([])
            else:
                until = self._take(node, raw) or until
        raw.end()
        return raw

    def _take(self, node: Any, raw: _Raw) -> int | None:
        """Take a rule over some columns, and return where it ends, or a node of the cell under way."""
        rule = _PARTIAL_RULE.match(self.flat.text, self.offset + node.pos) if kind(node) == "macro" else None
        if rule is None:
            raw.row[-1].append(node)
            return None
        raw.rules.append((len(raw.rows), (int(rule[1]), int(rule[2]))))
        return rule.end() - self.offset

    def _grid(self, raw: _Raw) -> tuple[list[list[SourceCell]], int]:
        """Return rows of equal length, with cells repeated wherever they go, and that length."""
        check_size(sum(map(len, raw.rows)), self.flat.place(self.offset + self.node.pos))
        grid: list[list[SourceCell]] = []
        spans: list[tuple[int, int, int]] = []  # row, column, over how many rows; upwards below 0
        for top, row in enumerate(raw.rows):
            grid.append([])
            for nodes, start in zip(row, self._starts(row), strict=True):
                cell, rows = self._cell(nodes, start)
                spans += [(top, len(grid[-1]) + more, rows) for more in range(cell.columns)]
                grid[-1] += [cell] * cell.columns
        width = max(map(len, grid), default=0)
        check_size(width * len(grid), self.flat.place(self.offset + self.node.pos))
        for filled in grid:
            filled += [SourceCell("", filled[-1].place) for _ in range(width - len(filled))]
        _spread(grid, spans)
        return grid, width

    def _starts(self, row: list[list[Any]]) -> list[int]:
        """Return where each cell begins: at its first node that is no blank, or where the one before does."""
        written = [next((node for node in nodes if is_written([node])), None) for nodes in row]
        first = next((node for node in written if node is not None), self.node)
        starts: list[int] = []
        for node in written:
            first = node or first
            blanks = len(first.chars) - len(first.chars.lstrip()) if kind(first) == "chars" else 0
            starts.append(self.offset + first.pos + blanks)
        return starts

    def _cell(self, nodes: list[Any], start: int) -> tuple[SourceCell, int]:
        """Return a cell, and over how many rows it goes: below 0 upwards."""
        columns, rows = _spans(nodes)
        source = ""
        if is_written(nodes):
            source = self.flat.source(start, self.offset + nodes[-1].pos + nodes[-1].len)
        pieces = self.words.pieces(nodes)
        return styled(pieces, self.flat.place(start), source, columns=columns, rows=abs(rows)), rows


def _spread(grid: list[list[SourceCell]], spans: list[tuple[int, int, int]]) -> None:
    """Repeat cells in the rows that they go over, where nothing else is written."""
    for top, column, rows in spans:
        below = range(top + 1, top + rows) if rows > 0 else range(top - 1, top + rows, -1)
        for other in below:
            if 0 <= other < len(grid) and not grid[other][column].text:
                grid[other][column] = grid[top][column]


def is_written(nodes: Iterable[Any]) -> bool:
    """Return whether there is more than blanks."""
    return any(kind(node) != "chars" or node.chars.strip() for node in nodes)


def _spans(nodes: Iterable[Any]) -> tuple[int, int]:
    """Return over how many columns and rows ``\\multicolumn`` and ``\\multirow`` say that a cell goes."""
    columns = rows = 1
    for node in _walk(nodes):
        name = getattr(node, "macroname", "")
        if name == "multicolumn":
            columns = _count(arguments(node)[:1])
        elif name == "multirow":
            rows = _count(arguments(node)[1:2])
    return max(1, columns), rows or 1


def _walk(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield nodes and those within them, except for what a tabular holds."""
    for node in nodes:
        if node is None:
            continue
        yield node
        if getattr(node, "environmentname", "") not in names("tabulars"):
            yield from _walk([*(getattr(node, "nodelist", None) or []), *arguments(node)])


def _count(argument: list[Any]) -> int:
    number = re.match(r"-?\d+", plain(Words().pieces(argument)))
    return max(-_SPAN_LIMIT, min(_SPAN_LIMIT, int(number[0]))) if number else 1
