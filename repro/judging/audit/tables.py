"""Contradictions between a paper's own tables, and between them and the sentences about them."""

from __future__ import annotations

from collections.abc import Iterator

from repro.judging.audit.findings import Finding
from repro.judging.audit.marks import unmarked_leads, unsupported_marks
from repro.judging.claims.derived import bolds
from repro.judging.claims.judged import FAILS, Statement, statements
from repro.judging.claims.places import Places
from repro.judging.claims.values import Published
from repro.manifest import arithmetic
from repro.manifest.cells import cell
from repro.manifest.papers import Paper
from repro.manifest.schema import Reading


def findings(source: Paper) -> Iterator[Finding]:
    """Everything that a paper shows by itself, without the numbers of others."""
    yield from _sums(source)
    yield from _statements(source)
    yield from _ties(source)
    yield from unsupported_marks(source)
    yield from unmarked_leads(source)
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
