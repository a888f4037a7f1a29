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
    for own, others in bolds(source):
        equal = [o for o in others if o.printed.value == own.printed.value and not o.printed.bold]
        if equal:
            places, values = zip(*((c.id, c.text) for c in (own, *equal)), strict=True)
            says = "the same number is bold once and plain elsewhere"
            place = f"{source.name}/{own.table.id}/tie/{own.row.id}/{own.column.id}"
            yield Finding("note", "tie", "paper", source.name, place, places, values, says)


def _unsupported_marks(source: Paper) -> Iterator[Finding]:
    """Marks of significance that no described test can stand behind."""
    for mark, own, _, over in marks(source):
        reasons = []
        if own.table.test is None:
            reasons.append("its table names no test")
        if not over:
            reasons.append("none of the rows it is over stands in its group")
        reasons += [f"{o.row.label} has no number there" for o in over if not o.is_numeric]
        cited = "is cited, so that there are no scores by query"
        if own.role == "cited":
            reasons.append(f"the row {cited}")
        reasons += [f"{o.row.label} {cited}" for o in over if o.role == "cited"]
        if reasons:
            said = f"{mark}: {'; '.join(reasons)}"
            place = f"{source.name}/{own.table.id}/test/{own.row.id}/{own.column.id}/{mark}"
            yield Finding("doubt", "mark", "paper", source.name, place, (own.id,), (own.text,), said)


def _unmarked_leads(source: Paper) -> Iterator[Finding]:
    """Leads without a mark that are as large as a marked one of the same column and group.

    Tests by query may give that, since the differences of other systems vary more; it is worth a look.
    """
    smallest: dict[tuple, tuple[Decimal, str, Cell]] = {}
    for mark, own, _, over in marks(source):
        lead = _lead(own, over)
        key = own.table.id, own.row.group, own.column.id
        if lead is not None and (key not in smallest or lead < smallest[key][0]):
            smallest[key] = lead, mark, own
    for (_, group, column), (least, marked, own) in smallest.items():
        for other in cells_of(source, (own.table,)):
            if (other.row.group, other.column.id) == (group, column) and _is_tested(other):
                for mark, lead in _unmarked(other):
                    if lead >= least:
                        places, values = (own.id, other.id), (own.text, other.text)
                        says = f"a lead of {least} has {marked}, one of {lead} has no {mark}"
                        place = f"{source.name}/{own.table.id}/lead/{other.row.id}/{column}/{mark}"
                        yield Finding("note", "mark", "paper", source.name, place, places, values, says)


def _unmarked(cell: Cell) -> Iterator[tuple[str, Decimal]]:
    """The marks a cell could have and has not, with its lead over the rows they name."""
    place, cells = (cell.column.id, cell.row.group), cells_of(cell.paper, (cell.table,))
    beside = [c for c in cells if (c.column.id, c.row.group) == place]
    for mark, meaning in cell.table.marks.items():
        if meaning.means == "significant" and mark not in cell.printed.marks and cell.is_numeric:
            over = [c for c in beside if c.row.system in meaning.over]
            lead = _lead(cell, over)
            if cell.row.system not in meaning.over and lead is not None:
                yield mark, lead


def _lead(own: Cell, over: list[Cell]) -> Decimal | None:
    """How far a cell is above the best of others; None where a number is missing."""
    values = [o.printed.value for o in over]
    if not values or None in values or own.printed.value is None:
        return None
    return own.printed.value - max(values)


def _is_tested(cell: Cell) -> bool:
    """Whether anything in this cell's row has a mark, so that it was put to the test."""
    return any(parse(text).marks for text in cell.row.cells)
