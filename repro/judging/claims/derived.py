"""Claims that the tables make without words: significance marks and bold numbers."""

from collections.abc import Iterator

from repro.judging.claims.language import Language
from repro.judging.claims.orders import has_number
from repro.judging.claims.relations import LEVEL
from repro.manifest.arithmetic import bold_scope
from repro.manifest.cells import Cell, cells_of
from repro.manifest.claim_expressions import MissingNumber
from repro.manifest.papers import Paper


def marks(source: Paper) -> Iterator[tuple[str, Cell, str, list[Cell]]]:
    """Every mark of significance: its mark, cell, meaning, and the cells it says it is better than."""
    for c, column in _marked_cells(source):
        for mark in dict.fromkeys(c.printed.marks):
            meaning = c.table.marks[mark]
            if meaning.means == "significant":
                rivals = [o for o in column if o.row.group == c.row.group and o.row.system in meaning.over]
                yield mark, c, f"significantly better than {', '.join(meaning.over)}", rivals


def _marked_cells(source: Paper) -> Iterator[tuple[Cell, list[Cell]]]:
    cells = [c for c in cells_of(source) if c.table.kind == "results"]
    for c in cells:
        if c.printed.marks:
            yield c, [o for o in cells if o.table.id == c.table.id and o.column.id == c.column.id]


def bolds(source: Paper) -> Iterator[tuple[Cell, list[Cell]]]:
    """Every bold number, and the others of its scope; none where the text lost its bold."""
    for table in source.manifest.tables:
        if table.kind == "results" and table.bold not in ("unknown", "none"):
            cells = [c for c in cells_of(source, (table,)) if has_number(c)]
            for c in cells:
                if c.printed.bold:
                    yield c, [o for o in cells if o is not c and bold_scope(o) == bold_scope(c)]


def mark_holds(language: Language, cell: Cell, over: list[Cell]) -> bool:
    """True where the number is above all it is marked over and, but for published ones, every test says so.

    Raises MissingNumber where a number, or a test of what is measured, is not there.
    """
    if not over:
        raise MissingNumber("the paper has no such row beside it")
    if not language.holds([(cell, other) for other in over], "above"):
        return False
    if language.values.is_published:
        return True
    level = (cell.table.test and cell.table.test.level) or LEVEL
    if None in language.tests:
        raise MissingNumber(language.values.why_untested(cell))
    weak = [p for p in language.tests if p > level]
    language.against.extend(f"p {p:.3g}, not corrected, is above {level}" for p in weak)
    return not weak
