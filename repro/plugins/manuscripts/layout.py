"""Finds heads, labels, values and groups of a table, e.g. a row with only "Dense retrievers" as a group."""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, groupby, pairwise

from repro.manifest.printed import DASHES
from repro.plugins.manuscripts.notation import KNOWN, NUMBER, VALUE
from repro.plugins.manuscripts.source_tables import Rows, SourceCell, SourceTable

_DASHES = frozenset({"-", "–", "—", "−", "--", "N/A", "n/a", "NA", "n.a.", "×", "✓", "✗"})
_Row = Sequence[SourceCell]
_CORNER = re.compile(r"(?i)|(?:model|system|method|approach|data ?set|variant)s?")
_BEGINS_WITH_DIGIT = re.compile(r"[<>≤≥~≈(]?\s*[-+−–]?\s*[$€£]?\.?\d")


def is_value(text: str) -> bool:
    return any(c.isdigit() for c in text) and VALUE.fullmatch(text) is not None


def is_group(row: _Row) -> bool:
    """Return whether a row has a single text, in its first cell or across the table."""
    labels = list({id(c): c for c in row if c.text}.values())
    return len(labels) == 1 and (labels[0] is row[0] or labels[0].columns >= len(row) - 1)


def _values(row: _Row) -> list[str]:
    texts = [cell.text for cell in {id(c): c for c in row}.values() if cell.text]
    return texts[bool(row[0].text) :]


def _has_decimals(row: _Row) -> bool:
    texts = _values(row)
    matches = filter(None, map(VALUE.fullmatch, texts))
    decimals = sum(m["unit"] == "%" or bool(m["point"] and m["unit"] is None) for m in matches)
    return 2 * decimals > len(texts)


def _has_value(row: _Row) -> bool:
    return any(is_value(text) or text in _DASHES for text in _values(row))


def _is_of_numbers(row: _Row) -> bool:
    texts = _values(row)
    return 2 * sum(_BEGINS_WITH_DIGIT.match(text) is not None for text in texts) > len(texts)


def head_length(rows: Sequence[_Row], rules: Sequence[int]) -> int:
    """Return the number of head rows. ``rules`` are the numbers of rows above each rule."""
    if len(rows) < 2:
        return 0
    lines = sorted({rule for rule in rules if 0 < rule < len(rows)})
    is_decimal = any(map(_has_decimals, rows))
    first = rows[: lines[0]] if lines else rows
    is_counted = not is_decimal and first[-1][0].text and _is_of_numbers(first[-1])
    if not lines or is_counted or any(map(_has_decimals, first)) or sum(map(_is_of_numbers, first)) > 1:
        return _above_values(rows, _has_decimals if is_decimal else _has_value)
    head = lines[0]
    for line in lines[1:]:
        if not all(_continues(*pair) for pair in pairwise(rows[head - 1 : line])):
            break
        head = line
    last = len(rows) - 1 if is_decimal else 0
    while head < last and not rows[head][0].text and _continues(*rows[head - 1 : head + 1]):
        head += 1
    return head


def _is_below(row: _Row, above: _Row) -> bool:
    return row[0] is above[0] or (any(c.columns > 1 for c in above) and not is_group(above))


def _continues(above: _Row, row: _Row) -> bool:
    is_part = _is_below(row, above) or is_group(above) or not (row[0].text and above[0].text)
    return is_part and not (is_group(row) or _has_value(row) or (row[0].text and _is_of_numbers(row)))


def _above_values(rows: Sequence[_Row], has_value: Callable[[_Row], bool]) -> int:
    pairs = enumerate(pairwise(rows), start=1)
    counted = (i for i, (above, row) in pairs if _is_of_numbers(row) and not _is_below(row, above))
    values = (i for i, row in enumerate(rows) if has_value(row))
    head = min(next(values, 1), next(counted, 3)) or (_CORNER.fullmatch(rows[0][0].text) is not None)
    while head > 1 and is_group(rows[head - 1]):
        head -= 1
    return head


def stacked(rows: Sequence[_Row], head: int) -> list[tuple[int, int]]:
    if head < 2 or not is_group(rows[0]):
        return [(0, len(rows))]
    texts = [[c.text for c in row] for row in rows]
    starts = [i for i, row in enumerate(rows) if is_group(row) and texts[i + 1 : i + head] == texts[1:head]]
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def side_by_side(rows: Sequence[_Row], head: int) -> list[tuple[int, int]]:
    """Return (start, end) of the columns of each part that repeats the first heading, e.g. "Model"."""
    heads = [c.text for c in rows[head - 1]]
    starts = [place for place, text in enumerate(heads) if not place or (head and text and text == heads[0])]
    parts = list(zip(starts, [*starts[1:], len(heads)], strict=True))
    columns = [[row[place] for row in rows[head:] if row[place].text] for place in range(len(heads))]
    counted = list(map(_are_numbers, columns))
    is_each_list = all(not counted[start] and any(counted[start:end]) for start, end in parts)
    return parts if is_each_list else [(0, len(heads))]


def join_continued(grid: Rows, rules: Container[int]) -> None:
    """Join, in place, rows that only continue the label or fill the gaps of the row above."""
    for at in range(len(grid) - 1, 0, -1):
        (label, *cells), above = grid[at], grid[at - 1]
        pairs = list(zip(cells, above[1:], strict=True))
        own = [(cell, other) for cell, other in pairs if cell.text and cell is not other]
        shared = [cell for cell, other in pairs if cell is other and is_value(cell.text)]
        fills = not label.text and any(map(is_number, above[1:])) and any(is_number(cell) for cell, _ in own)
        continues = fills and not any(other.text for _, other in own) if own else len(shared) > 1
        if at in rules or not above[0].text or not continues:
            continue
        more = "" if label is above[0] else label.text
        first = replace(above[0], text=f"{above[0].text} {more}".strip())
        grid[at - 1] = [first, *(cell if cell.text else other for cell, other in pairs)]
        grid[at] = [SourceCell("", label.place)] * len(above)


Row = tuple[SourceCell, ...]


@dataclass(frozen=True)
class Layout:
    """The label and value columns of a table, the indices of its body rows with values, and their groups."""

    table: SourceTable
    labels: tuple[int, ...]
    values: tuple[int, ...]
    rows: tuple[int, ...]
    groups: tuple[str, ...]

    def label(self, row: int) -> str:
        cells = self.table.body[row]
        texts = (cells[place].text.strip() for place in (*reversed(self.labels), *self.words))
        return next(filter(None, texts), "")

    def head(self, column: int) -> tuple[str, ...]:
        cells = {id(row[column]): row[column] for row in self.table.head if column < len(row)}
        return tuple(dict.fromkeys(text for c in cells.values() if (text := c.text.strip())))

    @cached_property
    def words(self) -> list[int]:
        return sorted({*range(self.table.width)} - {*self.labels, *self.values})

    @property
    def corner(self) -> str:
        return " ".join(text for place in self.labels for text in self.head(place))


def is_number(cell: SourceCell) -> bool:
    text = cell.text.strip()
    return (NUMBER.match(text) or KNOWN.fullmatch(text)) is not None


def layout(table: SourceTable, is_heading: Callable[[str], object] = lambda text: False) -> Layout:
    """Return a table's layout. ``is_heading`` tests whether a text names a measure."""
    table, rows, groups = _grouped(table)
    body = [table.body[number] for number in rows]
    columns = [[row[place] for row in body] for place in range(table.width)]
    is_measured = is_heading(" ".join(Layout(table, (), (), rows, groups).head(0)))
    first = 0 if is_measured and not _counts([row[0].text for row in body]) else 1
    own = {n: [row[n] for row in body if not n or row[n] is not row[0]] for n in range(first, table.width)}
    values = [place for place, cells in own.items() if _are_numbers(cells)]
    labels = () if 0 in values else _labels(body, values)
    parts = [sum(rule <= row for rule in table.full_rules) for row in rows]
    blocks = [_blocks(columns[place], columns[labels[-1]], parts) for place in labels[:-1]]
    groups = tuple(" / ".join(filter(None, names)) for names in zip(groups, *blocks, strict=True))
    return Layout(table, labels, tuple(place for place in values if place not in labels), rows, groups)


def _grouped(table: SourceTable) -> tuple[SourceTable, tuple[int, ...], tuple[str, ...]]:
    rows, groups, current, head = [], [], "", table.head
    if head and (first := _heading(head[0])) and any(_heading(row) for row in table.body):
        current, head = first, head[1:]
    heads = [_texts(row) for row in head]
    for number, row in enumerate(table.body):
        if (heading := _heading(row)) is not None:
            current = heading
        elif _texts(row) not in heads:
            rows.append(number)
            groups.append(current)
    return replace(table, head=head), tuple(rows), tuple(groups)


def _texts(row: Row) -> tuple[str, ...]:
    return tuple(c.text.strip() for c in row)


def _heading(row: Row) -> str | None:
    texts = {id(c): c.text.strip() for c in row if c.text.strip()}
    text = next(iter(texts.values()), "")
    is_value = NUMBER.fullmatch(text) if row[0] is row[-1] else NUMBER.match(text)
    return text if len(texts) < 2 and len(row) > 1 and not is_value else None


def transposed(table: SourceTable, depth: int = 0) -> SourceTable:
    """Return the transposed table. ``depth`` is the number of its label columns, or 0 to detect them."""
    depth = depth or max(layout(table).labels, default=0) + 1
    table, rows, groups = _grouped(table)
    grid: list[Row] = [*table.head, *(table.body[n] for n in rows)]
    columns = list(zip(*grid, strict=True))
    if any(groups):
        blank = SourceCell("", table.place)
        tops = {text: SourceCell(text, table.place) for text in groups}
        above = (*[blank] * len(table.head), *(tops[text] for text in groups))
        columns, depth = [above, *columns], depth + 1
    head, body = tuple(columns[:depth]), tuple(columns[depth:])
    return replace(table, head=head, body=body, rules=frozenset(), full_rules=frozenset())


def _are_numbers(cells: Sequence[SourceCell]) -> bool:
    said = [c for c in cells if c.text.strip() not in DASHES]
    return 2 * sum(map(is_number, said)) >= max(len(said), 1) or (not said and bool(cells))


def _labels(body: Sequence[Row], values: Sequence[int]) -> tuple[int, ...]:
    width = len(body[0]) if body else 0
    labels = [_first_label(body, values)]
    for place in range(labels[0] + 1, width - 1):
        if not _repeats([row[labels[-1]] for row in body]):
            break
        whole = all(re.fullmatch(r"\d*", row[place].text.strip()) for row in body)
        if place not in values or (whole and not set(range(place, width)) <= set(values)):
            labels.append(place)
    return tuple(labels + _distinguishing(body, values, labels))


def _first_label(body: Sequence[Row], values: Sequence[int]) -> int:
    counted = all(NUMBER.match(row[0].text.strip()) for row in body)
    places = range(1, (len(body[0]) + 1) // 2) if body and counted else ()
    return next((place for place in places if place not in values), 0)


def _repeats(cells: Sequence[SourceCell]) -> bool:
    is_shared = any(cell is above and cell.text.strip() for above, cell in pairwise(cells))
    return is_shared or 2 * sum(not c.text.strip() for c in cells) >= len(cells)


def _distinguishing(body: Sequence[Row], values: Sequence[int], labels: Sequence[int]) -> list[int]:
    names = {tuple(row[place].text for place in labels) for row in body}
    words = [place for place in range(labels[-1] + 1, min(values, default=0)) if place not in values]
    return words[:1] if 2 * len(names) <= len(body) else []


def _counts(texts: Sequence[str]) -> bool:
    numbers = [int(text) for text in texts if text.isdecimal()]
    return len(numbers) > 1 and all(other - number in (0, 1) for number, other in pairwise(numbers))


def _blocks(cells: Sequence[SourceCell], labels: Sequence[SourceCell], parts: Sequence[int]) -> list[str]:
    blocks: list[str] = []
    if len(set(parts)) == len(parts):  # a rule below each row
        parts = [0] * len(parts)
    for _, group in groupby(zip(cells, labels, parts, strict=True), key=lambda row: row[2]):
        texts = ((cell.text.strip(), label.text.strip()) for cell, label, _ in group)
        written, own = zip(*texts, strict=True)
        names = set(filter(None, written))
        first = min(names) if len(names) == 1 and all(own) else ""
        blocks += [*accumulate(written, lambda current, name: name or current, initial=first)][1:]
    return blocks


def fill_blank(row: list[SourceCell], covered: range) -> None:
    for place in covered[1:]:
        if not row[place].text:
            row[place] = row[covered[0]]


def spread(grid: Rows, spans: list[tuple[int, int, int]], lines: list[int]) -> None:
    for top, column, rows in spans:
        is_middle = top and top not in lines and not grid[top - 1][column].text  # of its rows
        end = min((line for line in lines if is_middle and line > top), default=len(grid))
        below = range(top + 1, min(top + rows, end)) if rows > 0 else range(top - 1, top + rows, -1)
        for other in set(below).intersection(range(len(grid))):
            if not grid[other][column].text:
                grid[other][column] = grid[top][column]
