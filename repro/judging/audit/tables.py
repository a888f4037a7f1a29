"""Contradictions between a paper's own tables, and between them and the sentences about them."""

from collections.abc import Iterator
from decimal import Decimal

from repro.judging.audit.findings import Finding
from repro.judging.claims.derived import bolds, marks
from repro.judging.claims.judged import FAILS, Statement, statements
from repro.judging.claims.places import Places
from repro.judging.claims.values import Published
from repro.manifest import arithmetic
from repro.manifest.cells import Cell, cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.printed import parse
from repro.manifest.schema import Reading


def findings(source: Paper) -> Iterator[Finding]:
    """Everything that a paper shows by itself, without the numbers of others."""
    yield from _sums(source)
    yield from _statements(source)
    yield from _ties(source)
    yield from _unsupported_marks(source)
    yield from _unmarked_leads(source)
    for reading in source.readings.values():
        if reading.kind in ("misprint", "conflict"):
            yield _reading(source, reading)


def _sums(source: Paper) -> Iterator[Finding]:
    """Averages and deltas; a wrong bold number is a statement that fails."""
    for identifier, reason in arithmetic.disagreements(source):
        found = cell(identifier)
        if found.column.mean_of or found.printed.delta is not None:
            kind = "average" if found.column.mean_of else "delta"
            yield Finding("error", kind, source.name, (identifier,), (found.text,), reason)


def _statements(source: Paper) -> Iterator[Finding]:
    finder = Places(source)
    for statement in statements(source):
        judgement = statement.judge(Published(), finder)
        if judgement.state == FAILS:
            places = (statement.id, *_places(statement))
            values = (statement.says, *_values(statement))
            says = f"{statement.where}: {judgement.why}"
            yield Finding("error", statement.kind, source.name, places, values, says, statement.note)


def _places(statement: Statement) -> tuple[str, ...]:
    if statement.cells:
        return tuple(c.id for c in statement.cells)
    return tuple(f"{statement.paper.name}/{table}" for table in statement.tables)


def _values(statement: Statement) -> tuple[str, ...]:
    return tuple(c.printed.plain for c in statement.cells) or ("",) * len(statement.tables)


def _ties(source: Paper) -> Iterator[Finding]:
    """A bold number that an equal one shares its scope with, which is not bold."""
    for own, others in bolds(source):
        equal = [o for o in others if o.printed.value == own.printed.value and not o.printed.bold]
        if equal:
            places, values = zip(*((c.id, c.text) for c in (own, *equal)), strict=True)
            says = "the same number is bold once and plain elsewhere"
            yield Finding("note", "tie", source.name, places, values, says)


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
            yield Finding("doubt", "mark", source.name, (own.id,), (own.text,), said)


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
                        yield Finding("note", "mark", source.name, places, values, says)


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


def _reading(source: Paper, reading: Reading) -> Finding:
    """A wrong reference or number that the readings hold already, with what is printed in single cells."""
    places, values = [f"{source.name}/{reading.where}"], [reading.paper]
    for identifier in reading.cells:
        if identifier.count("/") == 3 and identifier.startswith(f"{source.name}/"):
            places.append(identifier)
            values.append(cell(identifier).printed.plain)
    severity = "error" if reading.kind == "misprint" else "doubt"
    says = f"{reading.id}: {reading.paper}"
    return Finding(severity, reading.kind, source.name, tuple(places), tuple(values), says, reading.evidence)
