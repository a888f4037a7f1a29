r"""The tables of LaTeX. A spanning cell, e.g. ``\multicolumn{2}{c}{MRR@10}``, is repeated in its columns."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from repro.plugins.manuscripts import gullet, layout
from repro.plugins.manuscripts.latex_text import Words, arguments, counts, kind, last, names, raw, within
from repro.plugins.manuscripts.source_tables import (
    Place,
    Rows,
    SourceCell,
    SourceTable,
    check_size,
    plain,
    styled,
    uneven,
    with_points,
)


@dataclass
class Caption:
    node: Any
    kind: str
    number: str = ""


@dataclass
class Scope:
    """A float, subtable (``is_half``) or minipage. ``labels`` has (label, number of captions before it)."""

    kind: str
    parent: "Scope | None" = None
    is_half: bool = False
    captions: list[Caption] = field(default_factory=list)
    labels: list[tuple[str, int]] = field(default_factory=list)
    tabulars: list[Any] = field(default_factory=list)
    children: list["Scope"] = field(default_factory=list)

    def gather(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            name = getattr(node, "macroname", "") or getattr(node, "environmentname", "")
            if name in ("caption", "captionof", "subcaption") and arguments(node):
                self._take_caption(node, name)
            elif name == "label":
                self.labels.append((raw(last(node)), len(self.captions)))
            elif name in names("tabulars") and kind(node) == "environment":
                self._take_tabular(node)
            elif node is not None:
                (self._half(node, name) or self).gather(within(node))

    def _take_caption(self, node: Any, name: str) -> None:
        kind = self.kind
        if name == "captionof":
            kind = plain(Words().pieces(arguments(node)[1:2])).capitalize()
        self.captions.append(Caption(node, kind))
        self.gather(last(node))

    def _take_tabular(self, node: Any) -> None:
        inner = Scope(self.kind, self)
        inner.gather(node.nodelist)
        self.captions += inner.captions
        self.labels += [(label, len(self.captions)) for label, _ in inner.labels]
        if not any(_is_table(one) for scope in inner.walk() for one in scope.tabulars):
            self.tabulars.append(node)
            return
        self.tabulars += inner.tabulars
        for child in inner.children:
            child.parent = self
            self.children.append(child)

    def _half(self, node: Any, name: str) -> "Scope | None":
        if name not in names("halves") and name != "minipage":
            return None
        child = Scope(self.kind, self, name != "minipage")
        if name == "subfloat" and any(arguments(node)[:2]):
            child.captions.append(Caption(node, self.kind))
        self.children.append(child)
        return child

    def walk(self) -> Iterator["Scope"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def upwards(self) -> Iterator["Scope"]:
        yield self
        if self.parent is not None and (self.is_half or not self.captions):
            yield from self.parent.upwards()

    @property
    def is_paired(self) -> bool:
        return len(self.captions) == len(self.tabulars)

    def captions_of(self, tabular: int) -> list[Caption]:
        return [
            scope.captions[tabular if scope is self and scope.is_paired else 0]
            for scope in reversed(list(self.upwards()))
            if scope.captions
        ]

    def number_of(self, tabular: int) -> str:
        own = self.captions_of(tabular)[-1:]
        return own[0].number if own and own[0].kind == "Table" else ""

    def label_of(self, tabular: int) -> str:
        labels = (
            label
            for scope in self.upwards()
            for label, before in scope.labels
            if not (scope is self and scope.is_paired) or max(before, 1) == tabular + 1
        )
        return next(labels, "")

    def labelled(self) -> Iterator[tuple[str, Caption]]:
        captions = next((scope.captions for scope in self.upwards() if scope.captions), [])
        for label, before in self.labels:
            yield from ((label, caption) for caption in captions[: max(1, before)][-1:] if caption.number)


def _is_table(node: Any) -> bool:
    cells = sum(getattr(one, "specials_chars", "") == "&" for one in node.nodelist)
    rows = sum(getattr(one, "macroname", "") == "\\" for one in node.nodelist)
    return rows >= 2 and cells >= 3


def numbered(floats: Iterable[Scope]) -> dict[str, str]:
    """Number the captions. Returns label -> number, and "kind of LABEL" -> "Table" or "Figure"."""
    counters: dict[str, int] = {}
    numbers: dict[str, str] = {}
    for one in floats:
        scopes = list(one.walk())
        _count([caption for scope in scopes if not scope.is_half for caption in scope.captions], counters)
        _letter([scope for scope in scopes if scope.is_half])
        for label, caption in (pair for scope in scopes for pair in scope.labelled()):
            numbers[label], numbers[f"kind of {label}"] = caption.number, caption.kind
    return numbers


def _count(captions: list[Caption], counters: dict[str, int]) -> None:
    for caption in sorted(captions, key=lambda one: one.node.pos):
        has_star = arguments(caption.node)[0] is not None
        if caption.kind and not has_star:
            counters[caption.kind] = counters.get(caption.kind, 0) + 1
            caption.number = str(counters[caption.kind])


def _letter(halves: list[Scope]) -> None:
    for letter, scope in zip("abcdefghijklmnopqrstuvwxyz", halves, strict=False):
        above = [one.captions[0].number for one in scope.upwards() if one.captions and not one.is_half]
        for caption in scope.captions:
            caption.number = "".join(above) + letter


_PARTIAL_RULE = re.compile(
    r"\\(?:cmidrule|cline|cdashline|Xcline|cdashlinelr)\s*(?:\[[^\]]*\])?\s*(?:\([^)]*\))?\s*\{(\d+)\s*-+\s*(\d+)\}"
    r"(?:\[[^\]]*\]|\([^)]*\))?(?:\s*\{[^{}]*\})?"
)
_ENDS = ("\\", "tabularnewline", "cr")
_ENDS_OF_PARTS = ("endhead", "endfirsthead", "endfoot", "endlastfoot")
_SPAN_LIMIT = 200


@dataclass
class _Raw:
    rows: list[list[list[Any]]] = field(default_factory=list)
    rules: list[tuple[int, tuple[int, int] | None]] = field(default_factory=list)
    row: list[list[Any]] = field(default_factory=lambda: [[]])
    head: int | None = None  # rows of its head
    ends: int = 0  # of rows, also dropped ones
    separators: int = 0

    def end_row(self) -> None:
        self.rows.append(self.row)
        self.separators += len(self.row) - 1
        self.row = [[]]

    def end(self) -> None:
        if len(self.row) > 1 or is_written(self.row[0]):
            self.end_row()
        self.row = [[]]

    def end_part(self, name: str) -> None:
        self.end()
        if self.head is None and name in ("endhead", "endfirsthead"):
            self.head = len(self.rows)
        del self.rows[self.head or 0 :]
        self.rules = [(min(at, len(self.rows)), over) for at, over in self.rules]


class Tabular:
    """A LaTeX tabular. ``offset`` is the position in the flat text at which its float begins."""

    def __init__(self, node: Any, flat: gullet.Expanded, offset: int, words: Words):
        self.node, self.flat, self.offset, self.words = node, flat, offset, words
        self.notes: list[str] = []

    @property
    def place(self) -> Place:
        return self.flat.place(self.offset + self.node.pos)

    def tables(self, legend: tuple[str, ...], **facts: str) -> list[SourceTable]:
        """Return its tables with the fields ``facts``, e.g. two side by side, none for one row or column."""
        raw = self._raw()
        self.flat.lost += [(self.flat.place(at), text) for at, text in self._lost(raw)]
        grid, width = self._grid(raw)
        kept = [i for i, row in enumerate(grid) if any(c.text or c.marks for c in row)]
        if len(kept) < 2 or width < 2:
            return []
        rows = [tuple(grid[i]) for i in kept]
        rules = [(bisect_left(kept, at), over in (None, (1, width))) for at, over in raw.rules]
        head = layout.head_length(rows, [at for at, is_full in rules if is_full])
        if self.words.unknown:
            self.notes.append(f"{self.place}: Unknown macros: {', '.join(sorted(self.words.unknown))}")
        return [
            SourceTable(
                place=rows[start][0].place if start else self.place,
                head=tuple(row[left:right] for row in rows[start : start + head]),
                body=tuple(row[left:right] for row in rows[start + head : end]),
                rules=frozenset(at - start - head for at, _ in rules if start + head < at < end),
                full_rules=frozenset(at - start - head for at, full in rules if full and at > start + head),
                legend=(*legend, *self.words.footnotes),
                notes=tuple(self.notes),
                **facts,
            )
            for start, end in layout.stacked(rows, head)
            for left, right in layout.side_by_side(rows, head)
        ]

    def _lost(self, raw: _Raw) -> Iterator[tuple[int, str]]:
        start = self.offset + self.node.pos
        expected = counts(self.flat.text, start)
        if expected.rows > raw.ends:
            yield start, f"{expected.rows - raw.ends} of {expected.rows} rows of this table are not read"
        elif (lost := expected.cells - raw.separators) > 0:
            yield start, f"{lost} of {expected.cells} column separators of this table are not read"
        for at in expected.open[:1]:
            yield at, "An argument that begins here is still open at the end of its table"

    def _raw(self) -> _Raw:
        raw, until = _Raw(), 0
        for node in filter(None, self.node.nodelist):
            if node.pos + node.len <= until:
                continue
            name = getattr(node, "macroname", "")
            if name == "CodeAfter":
                break
            if name in names("rules"):
                raw.rules.append((len(raw.rows), None))
            elif name in _ENDS:
                raw.ends += 1
                raw.end_row()
            elif name == "Body":
                raw = _Raw()
            elif name in _ENDS_OF_PARTS:
                raw.end_part(name)
            elif getattr(node, "specials_chars", "") == "&":
                raw.row.append([])
            else:
                until = self._take(node, raw) or until
        raw.end()
        return raw

    def _take(self, node: Any, raw: _Raw) -> int | None:
        rule = _PARTIAL_RULE.match(self.flat.text, self.offset + node.pos) if kind(node) == "macro" else None
        if rule is None:
            raw.row[-1].append(node)
            return None
        raw.rules.append((len(raw.rows), (int(rule[1]), int(rule[2]))))
        return rule.end() - self.offset

    def _grid(self, raw: _Raw) -> tuple[Rows, int]:
        check_size(sum(map(len, raw.rows)), self.place)
        grid: Rows = []
        spans: list[tuple[int, int, int]] = []  # row, column, number of rows (negative upwards)
        areas: list[tuple[int, int, int, int]] = []  # the same and columns
        for top, row in enumerate(raw.rows):
            grid.append([])
            has_others = sum(map(is_written, row)) > 1
            for nodes, start in zip(row, self._starts(row), strict=True):
                cell, rows, is_area = self._cell(nodes, start, is_label=has_others and not grid[-1])
                if is_area:
                    areas.append((top, len(grid[-1]), rows, cell.columns))
                    grid[-1].append(cell)
                    continue
                spans += [(top, len(grid[-1]) + more, rows) for more in range(cell.columns)]
                grid[-1] += [cell] * cell.columns
        of_numbers = [row for row in grid if sum(layout.is_value(c.text) for c in row) > 1]
        self.flat.lost += uneven([(row[0].place, len(row)) for row in of_numbers])
        width = max(map(len, grid), default=0)
        check_size(width * len(grid), self.place)
        for filled in grid:
            filled += [SourceCell("", filled[-1].place) for _ in range(width - len(filled))]
        for top, column, rows, columns in areas:
            covered = range(column, min(column + columns, width))
            layout.fill_blank(grid[top], covered)
            spans += [(top, other, rows) for other in covered]
        layout.spread(grid, spans, [at for at, over in raw.rules if over is None])
        layout.join_continued(grid, {at for at, _ in raw.rules})
        return with_points(self._rounded(grid)), width

    def _rounded(self, grid: Rows) -> Rows:
        columns = raw(filter(None, arguments(self.node)))
        setup = " ".join((*re.findall(r"\\sisetup\s*\{([^{}]*)", self.flat.text), columns))
        places = re.findall(r"round-precision\s*=\s*(\d)", setup)
        if not (places and re.search(r"round-mode\s*=\s*places", setup) and "S" in columns):
            return grid
        longer, unit = rf"[-+]?\d*\.\d{{{places[-1]}}}\d+", Decimal(f"1e-{places[-1]}")
        for row in grid:
            for at, cell in enumerate(row):
                if re.fullmatch(longer, cell.text):
                    row[at] = replace(cell, text=str(Decimal(cell.text).quantize(unit, ROUND_HALF_UP)))
        return grid

    def _starts(self, row: list[list[Any]]) -> list[int]:
        written = [next((n for n in nodes if is_written([n])), None) for nodes in row]
        first = next((n for n in written if n is not None), self.node)
        starts: list[int] = []
        for node in written:
            first = node or first
            blanks = len(first.chars) - len(first.chars.lstrip()) if kind(first) == "chars" else 0
            starts.append(self.offset + first.pos + blanks)
        return starts

    def _cell(self, nodes: list[Any], start: int, *, is_label: bool) -> tuple[SourceCell, int, bool]:
        columns, rows, is_area = _spans(nodes)
        cell = styled(self.words.pieces(nodes), self.flat.place(start), columns=columns)
        named = {getattr(n, "macroname", ""): n for n in _walk(nodes)}
        if is_label and not cell.text:
            cites = sorted(names("cited") & {*named})
            cell = replace(cell, text=", ".join(raw(last(named[cite])) for cite in cites))
        if shaded := named.get("cellcolor"):
            cell = replace(cell, shade=raw(filter(None, arguments(shaded))))
        elif set_cell := named.get("SetCell"):
            text = raw(filter(None, arguments(set_cell)))
            shade = re.search(r"bg\s*=\s*([\w!]+)", text)
            cell = replace(cell, shade=shade[1] if shade else "", bold=cell.bold or "bfseries" in text)
        return cell, rows, is_area


def is_written(nodes: Iterable[Any]) -> bool:
    return any(kind(n) != "chars" or n.chars.strip() for n in nodes)


def _spans(nodes: Iterable[Any]) -> tuple[int, int, bool]:
    columns, rows, is_area = 1, 1, False
    for node in _walk(nodes):
        name, text = getattr(node, "macroname", ""), raw(filter(None, arguments(node)[:2]))
        if name == "multicolumn":
            columns = _number(arguments(node)[:1])
        elif name == "multirow":
            rows = _number(arguments(node)[1:2])
        elif name in ("SetCell", "Block"):  # [r=2,c=3] or {2-3}
            text = re.sub(r"\{(\d*)-(\d*)\}", r" r=\1 c=\2", text)
            sizes = dict(re.findall(r"\b([rc])\s*=\s*(\d+)", text))
            rows, columns, is_area = int(sizes.get("r", 1)), int(sizes.get("c", 1)), True
    rows, columns = min(_SPAN_LIMIT, rows or 1), min(_SPAN_LIMIT, max(1, columns))
    return columns, rows, is_area and (rows > 1 or columns > 1)


def _walk(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        if node is None:
            continue
        yield node
        if getattr(node, "environmentname", "") not in names("tabulars"):
            yield from _walk(within(node))


def _number(argument: list[Any]) -> int:
    number = re.match(r"-?\d+", plain(Words().pieces(argument)))
    return max(-_SPAN_LIMIT, min(_SPAN_LIMIT, int(number[0]))) if number else 1
