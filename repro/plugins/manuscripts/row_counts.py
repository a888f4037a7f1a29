r"""Independent counts of the rows and cells of a tabular, to detect lost ones. For example, an open brace
hides all later ``&`` from the parser."""

import re
from typing import NamedTuple

_SIGNS = re.compile(r"\\(?P<edge>begin|end)\s*\{(?P<name>[^{}]*)\}|\\\\|\\[A-Za-z]+|\\.|[{}&]", re.DOTALL)
_ROW_ENDS = ("\\\\", "\\tabularnewline", "\\cr")


class Counts(NamedTuple):
    """The separators of a tabular outside of braces and inner environments.

    Attributes:
        open: positions of braces that are open at its end.
    """

    rows: int
    cells: int
    open: tuple[int, ...]


def counts(text: str, start: int) -> Counts:
    r"""Count the rows and cells of the tabular whose ``\begin`` is at ``start``."""
    rows = cells = depth = 0
    braces: list[int] = []
    for sign in _SIGNS.finditer(text, start):
        if sign["edge"]:
            depth += 1 if sign["edge"] == "begin" else -1
            if not depth:
                break
        elif sign[0] == "{":
            braces.append(sign.start())
        elif sign[0] == "}":
            braces[-1:] = []
        elif sign[0] == "\\CodeAfter":
            break
        elif sign[0] == "\\Body":
            rows = cells = 0
        elif depth == 1 and not braces:
            rows += sign[0] in _ROW_ENDS
            cells += sign[0] == "&"
    return Counts(rows, cells, tuple(braces))


def lost(expected: Counts, rows: int, cells: int) -> str:
    """Return a sentence on rows or cells that were not read, or ""."""
    if expected.rows > rows:
        return f"{expected.rows - rows} of {expected.rows} rows of this table are not read"
    if expected.cells > cells:
        return f"{expected.cells - cells} of {expected.cells} column separators of this table are not read"
    return ""
