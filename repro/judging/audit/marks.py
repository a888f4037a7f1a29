"""Marks of significance and bold numbers that their own table does not bear out."""

from collections.abc import Iterator
from decimal import Decimal

from repro.judging.audit.findings import Finding
from repro.judging.claims.derived import bolds, marks
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.printed import parse


def of_marks(source: Paper) -> Iterator[Finding]:
    """Ties of bold numbers, marks without a test behind them, leads without the mark of a smaller one."""
    yield from _ties(source)
    yield from _unsupported_marks(source)
    yield from _unmarked_leads(source)


def _ties(source: Paper) -> Iterator[Finding]:
    """A bold number that an equal one shares its scope with, which is not bold."""
    for cell, rivals in bolds(source):
        equals = [o for o in rivals if o.printed.value == cell.printed.value and not o.printed.bold]
        if equals:
            places, values = zip(*((c.id, c.text) for c in (cell, *equals)), strict=True)
            says = "the same number is bold once and plain elsewhere"
            place = f"{source.name}/{cell.table.id}/tie/{cell.row.id}/{cell.column.id}"
            yield Finding("note", "tie", "paper", source.name, place, places, values, says)


def _unsupported_marks(source: Paper) -> Iterator[Finding]:
    """Marks of significance that no described test can stand behind."""
    for mark, cell, _, rivals in marks(source):
        reasons = []
        if cell.table.test is None:
            reasons.append("its table names no test")
        if not rivals:
            reasons.append("none of the rows it is over stands in its group")
        reasons += [f"{o.row.label} has no number there" for o in rivals if not o.is_numeric]
        cited = "is cited, so that there are no scores by query"
        if cell.role == "cited":
            reasons.append(f"the row {cited}")
        reasons += [f"{o.row.label} {cited}" for o in rivals if o.role == "cited"]
        if reasons:
            says = f"{mark}: {'; '.join(reasons)}"
            place = f"{source.name}/{cell.table.id}/test/{cell.row.id}/{cell.column.id}/{mark}"
            yield Finding("doubt", "mark", "paper", source.name, place, (cell.id,), (cell.text,), says)


def _unmarked_leads(source: Paper) -> Iterator[Finding]:
    """Leads without a mark that are as large as a marked one of the same column and group.

    Tests by query may give that, since the differences of other systems vary more; it is worth a look.
    """
    smallest: dict[tuple, tuple[Decimal, str, Cell]] = {}
    for mark, cell, _, rivals in marks(source):
        lead = _lead(cell, rivals)
        key = cell.table.id, cell.row.group, cell.column.id
        if lead is not None and (key not in smallest or lead < smallest[key][0]):
            smallest[key] = lead, mark, cell
    for (_, group, column), (least, smallest_mark, cell) in smallest.items():
        for other in cells_of(source, (cell.table,)):
            if (other.row.group, other.column.id) == (group, column) and _is_tested(other):
                for mark, lead in _missing_marks(other):
                    if lead >= least:
                        places, values = (cell.id, other.id), (cell.text, other.text)
                        says = f"a lead of {least} has {smallest_mark}, one of {lead} has no {mark}"
                        place = f"{source.name}/{cell.table.id}/lead/{other.row.id}/{column}/{mark}"
                        yield Finding("note", "mark", "paper", source.name, place, places, values, says)


def _missing_marks(cell: Cell) -> Iterator[tuple[str, Decimal]]:
    """The marks a cell could have and has not, with its lead over the rows they name."""
    place, cells = (cell.column.id, cell.row.group), cells_of(cell.paper, (cell.table,))
    neighbours = [c for c in cells if (c.column.id, c.row.group) == place]
    for mark, meaning in cell.table.marks.items():
        if meaning.means == "significant" and mark not in cell.printed.marks and cell.is_numeric:
            rivals = [c for c in neighbours if c.row.system in meaning.over]
            lead = _lead(cell, rivals)
            if cell.row.system not in meaning.over and lead is not None:
                yield mark, lead


def _lead(cell: Cell, rivals: list[Cell]) -> Decimal | None:
    """How far a cell is above the best of others; None where a number is missing."""
    values = [o.printed.value for o in rivals]
    if not values or None in values or cell.printed.value is None:
        return None
    return cell.printed.value - max(values)


def _is_tested(cell: Cell) -> bool:
    """Whether anything in this cell's row has a mark, so that it was put to the test."""
    return any(parse(text).marks for text in cell.row.cells)
