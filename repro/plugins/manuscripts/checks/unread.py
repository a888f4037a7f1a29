"""Findings on parts of tables that were not read, e.g. "8.8 to 9.1" in a column of numbers."""

import re
from collections.abc import Iterator, Sequence

from repro.manifest.printed import DASHES
from repro.plugins.manuscripts.checks import Finding
from repro.plugins.manuscripts.headings import meaning
from repro.plugins.manuscripts.series import value_of
from repro.plugins.manuscripts.source_tables import Manuscript, SourceCell, SourceTable

# numbers with a unit, bounds, ranges and counts such as 3/5
_KNOWN = re.compile(
    r"""[<>≤≥~≈×x]?\s*[-+−±]?\s*\.?\d[\d.,]*\s*
        (?:%|[kKMBGT]B?|[mµn]?s|sec|min|hrs?|h|hours?|days?|d|[x×]|GB|MB|KB|pp|pts?|points?|dim|epochs?|steps?)?
        (?:\s[a-z](?:,?\s?[a-z])*)?  # letters of other rows
        (?:\s*[-–—/+:→]\s*.*|\s*\(.*\))?""",
    re.VERBOSE,
)


def lost(manuscript: Manuscript) -> Iterator[Finding]:
    """Find rows, cells and tables that are missing from the result."""
    why = "Other findings do not cover this part"
    yield from (Finding("doubt", "unread", place, text, why) for place, text in manuscript.lost)


def cells(tables: Sequence[SourceTable]) -> Iterator[Finding]:
    """Find cells in columns of results that contain digits but are no number."""
    for table in tables:
        for cell in unread(table):
            says = f"{cell.text!r} in a column of numbers is not read"
            yield Finding("note", "unread", cell.place, says, "The checks leave this cell out")


def unread(table: SourceTable) -> list[SourceCell]:
    """Return the cells with digits in columns of numbers that are no number and have no known unit."""
    means = meaning(table)
    if not means.is_of_results:
        return []
    plan = means.layout
    places = [column.place for column in means.columns if not column.is_cost]
    found = {id(cell): cell for row in plan.rows for place in places if (cell := plan.table.body[row][place])}
    return list(filter(_is_unread, found.values()))


def _is_unread(cell: SourceCell) -> bool:
    text = cell.text.strip()
    is_empty = text in DASHES or not any(map(str.isdigit, text))
    return not is_empty and value_of(cell, 0) is None and _KNOWN.fullmatch(text) is None
