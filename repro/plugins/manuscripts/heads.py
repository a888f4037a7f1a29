"""Where the head of a table ends and its values begin."""

import re
from collections.abc import Callable, Sequence

from repro.plugins.manuscripts.tables import SourceCell

_VALUE = re.compile(
    r"[~≈<>≤≥]?\s*[-+−±]?\s*(?:\d{1,3}(?:,\d{3})+|\d*)(?P<point>\.\d+)?(?:×10\^[-−]?\d+)?\s*"
    r"(?P<unit>[%kKMB]|ms|s|GB)?(?:\s*[±(/|→].*)?"
)
DASHES = frozenset({"-", "–", "—", "−", "--", "N/A", "n/a", "NA", "n.a.", "×", "✓", "✗"})
Row = Sequence[SourceCell]


def is_value(text: str) -> bool:
    """Return whether a cell states a number, with or without its deviation or difference."""
    return any(c.isdigit() for c in text) and _VALUE.fullmatch(text) is not None


def is_group(row: Row) -> bool:
    """Return whether one cell of a row has text, at the left or over the width: a label of rows below."""
    labels = {id(cell): cell for cell in row if cell.text}
    if len(labels) != 1:
        return False
    cell = next(iter(labels.values()))
    return cell is row[0] or cell.columns >= len(row) - 1


def _values(row: Row) -> list[str]:
    """Return the texts of a row but for its first cell, each once."""
    return [cell.text for cell in {id(cell): cell for cell in row}.values()][1:]


def _has_decimal(row: Row) -> bool:
    """Return whether a value has a decimal point or is a percentage; a head may count in ``0.1k``."""
    matches = (_VALUE.fullmatch(text) for text in _values(row))
    return any(m and (m["unit"] == "%" or (m["point"] and m["unit"] is None)) for m in matches)


def _has_value(row: Row) -> bool:
    return any(is_value(text) or text in DASHES for text in _values(row))


def _is_of_words(row: Row) -> bool:
    """Return whether words stand over most of the columns, and no value."""
    cells = row[1:]
    if is_group(row) or _has_value(row):
        return False
    return 2 * sum(bool(cell.text) for cell in cells) >= len(cells) > 0


def head_length(rows: Sequence[Row], rules: Sequence[int]) -> int:
    """Return how many rows stand above the values; ``rules`` are rows above which a line over all columns is.

    Rows above the first line are the head, unless they have values with a decimal point; so are the rows
    between further lines, as long as they have no value, and rows of words right above decimal values.
    Without a line, the head ends at the first value. Labels over the whole width that stand right above
    values belong to the body.
    """
    if len(rows) < 2:
        return 0
    lines = sorted({rule for rule in rules if 0 < rule < len(rows)})
    is_decimal = any(_has_decimal(row) for row in rows)
    if not lines or any(_has_decimal(row) for row in rows[: lines[0]]):
        return _above_values(rows, _has_decimal if is_decimal else _has_value)
    return _above_lines(rows, lines) if is_decimal else lines[0]


def _above_lines(rows: Sequence[Row], lines: Sequence[int]) -> int:
    head = lines[0]
    for line in lines[1:]:
        part = rows[head:line]
        if any(_has_value(row) for row in part) or all(is_group(row) for row in part):
            break
        head = line
    while head < len(rows) - 1 and _is_of_words(rows[head]):
        head += 1
    return head


def _above_values(rows: Sequence[Row], has_value: Callable[[Row], bool]) -> int:
    head = next((i for i, row in enumerate(rows) if has_value(row)), 1)
    while head > 1 and is_group(rows[head - 1]):
        head -= 1
    return head


def stacked(rows: Sequence[Row], head: int) -> list[tuple[int, int]]:
    """Return where each of the tables begins and ends that stand above each other in one.

    Each begins with a title over the whole width and repeats the rest of the head.
    """
    if head < 2 or not is_group(rows[0]):
        return [(0, len(rows))]
    texts = [[cell.text for cell in row] for row in rows]
    starts = [i for i, row in enumerate(rows) if is_group(row) and texts[i + 1 : i + head] == texts[1:head]]
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))
