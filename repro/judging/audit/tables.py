"""Contradictions between a paper's own tables, and between them and the sentences about them."""

from collections.abc import Iterator

from repro.judging.audit.findings import Finding
from repro.judging.audit.marks import of_marks
from repro.judging.claims.judged import named_papers
from repro.judging.claims.measures import FAILS
from repro.judging.claims.places import Places
from repro.judging.claims.statements import Statement, statements
from repro.judging.claims.values import PublishedValues
from repro.manifest import arithmetic
from repro.manifest.cells import cell
from repro.manifest.papers import Paper
from repro.manifest.reading_schema import Reading


def findings(source: Paper) -> Iterator[Finding]:
    """Everything that a paper shows by itself, without the numbers of others."""
    yield from _sum_findings(source)
    yield from _statement_findings(source)
    yield from of_marks(source)
    for reading in source.readings.values():
        if reading.kind in ("misprint", "conflict"):
            yield _reading_finding(source, reading)


def _sum_findings(source: Paper) -> Iterator[Finding]:
    """Averages and deltas; a wrong bold number is a statement that fails."""
    for identifier, reason in arithmetic.disagreements(source):
        subject = cell(identifier)
        if subject.column.mean_of or subject.printed.delta is not None:
            kind = "average" if subject.column.mean_of else "delta"
            place = (identifier,), (subject.text,)
            yield Finding("error", kind, "paper", source.name, identifier, *place, reason)


def _statement_findings(source: Paper) -> Iterator[Finding]:
    finder = Places(source)
    for statement in statements(source):
        judgement = statement.judge(PublishedValues(), finder)
        if judgement.state == FAILS:
            places = (statement.id, *_places(statement))
            values = (statement.says, *_values(statement))
            says = "; ".join(
                filter(None, [f"{statement.where}: {judgement.why}", judgement.differs_by_measure])
            )
            severity = "doubt" if statement.assumed else "error"
            against, why = _held_against(statement), _explanation(statement)
            yield Finding(
                severity, statement.kind, against, source.name, statement.id, places, values, says, why
            )


def _explanation(statement: Statement) -> str:
    """The note of a statement, and what of its expression the sentence does not say."""
    assumed = f"ours in it: {statement.assumed}" if statement.assumed else ""
    return "; ".join(filter(None, [statement.note, assumed]))


def _held_against(statement: Statement) -> str:
    """Another paper where its cells are named in the expression, else the paper alone."""
    return "another paper" if named_papers(statement.expect) else "paper"


def _places(statement: Statement) -> tuple[str, ...]:
    if statement.cells:
        return tuple(c.id for c in statement.cells)
    return tuple(f"{statement.paper.name}/{table}" for table in statement.tables)


def _values(statement: Statement) -> tuple[str, ...]:
    return tuple(c.printed.plain for c in statement.cells) or ("",) * len(statement.tables)


def _reading_finding(source: Paper, reading: Reading) -> Finding:
    """A wrong reference or number that the readings hold already, with what is printed in single cells."""
    places, values = [f"{source.name}/{reading.where}"], [reading.paper]
    for identifier in reading.cells:
        if identifier.count("/") == 3 and identifier.startswith(f"{source.name}/"):
            places.append(identifier)
            values.append(cell(identifier).printed.plain)
    severity = "error" if reading.kind == "misprint" else "doubt"
    fields = source.name, f"{source.name}/reading/{reading.id}", tuple(places), tuple(values)
    says = f"{reading.id}: {reading.paper}"
    return Finding(severity, reading.kind, reading.against, *fields, says, reading.evidence)
