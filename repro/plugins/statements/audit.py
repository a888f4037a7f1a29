"""All findings of the audit, and those that a paper shows by itself: tables, and sentences about them."""

from collections.abc import Iterator

from repro.manifest import arithmetic
from repro.manifest.cells import cell as cell_named
from repro.manifest.papers import Paper, papers
from repro.manifest.reading_schema import Reading
from repro.plugins.statements.across_papers import conventions, disagreements, namesakes
from repro.plugins.statements.claims import FAILS
from repro.plugins.statements.domains_and_indices import of_domains, of_indices
from repro.plugins.statements.findings import (
    Finding,
    Notes,
    check_use,
    notes,
    notes_of,
    sort_findings,
    told_once,
)
from repro.plugins.statements.judged import named_papers
from repro.plugins.statements.language import Places
from repro.plugins.statements.leads import of_leads
from repro.plugins.statements.marks import of_marks, of_words
from repro.plugins.statements.references import of_references, other_numbers
from repro.plugins.statements.statements import Statement, statements
from repro.plugins.statements.values import PublishedValues
from repro.store.results import Results


def findings(source: Paper) -> Iterator[Finding]:
    """Everything that a paper shows by itself, without the numbers of others."""
    yield from _sum_findings(source)
    yield from _statement_findings(source)
    yield from of_marks(source)
    yield from of_words(source)
    for reading in source.readings.values():
        if reading.kind in ("misprint", "conflict"):
            yield _reading_finding(source, reading)


def _sum_findings(source: Paper) -> Iterator[Finding]:
    """Averages and deltas; a wrong bold number is a statement that fails."""
    for identifier, reason in arithmetic.disagreements(source):
        subject = cell_named(identifier)
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
            values.append(cell_named(identifier).printed.plain)
    severity = "error" if reading.kind == "misprint" else "doubt"
    fields = source.name, f"{source.name}/reading/{reading.id}", tuple(places), tuple(values)
    says = f"{reading.id}: {reading.paper}"
    return Finding(severity, reading.kind, reading.against or "paper", *fields, says, reading.evidence)


def audit(sources: list[Paper]) -> list[Finding]:
    """Find what does not fit in these papers, and between them and all others, in a fixed order.

    One fact is one finding, however many sentences, readings and cells show it: ``facts`` of audit.yaml.

    Raises ManifestError where a manifest, claims.yaml or audit.yaml is broken.
    """
    all_notes = notes()
    by_name = {source.name: source for source in (*papers().values(), *sources)}
    all_findings = [
        f.explained(all_notes.explanation(f.places)) for f in each(list(by_name.values()), all_notes)
    ]
    places = {finding.id: finding.places for finding in all_findings}
    for source in sources:
        check_use(source, places)
    names = {source.name for source in sources}
    return sort_findings([f for f in told_once(all_findings, all_notes.facts) if names & _paper_names(f)])


def each(sources: list[Paper], all_notes: Notes) -> Iterator[Finding]:
    """Every finding by itself, before those of one fact are joined."""
    yield from disagreements(sources, all_notes)
    yield from other_numbers(sources)
    yield from namesakes(sources, all_notes)
    yield from conventions(sources, all_notes)
    for source in sources:
        yield from findings(source)
        yield from of_references(source)
        yield from of_leads(source)
        yield from of_domains(source)
        yield from of_indices(source)
        yield from _wording_findings(source)


def _wording_findings(source: Paper) -> Iterator[Finding]:
    for word in notes_of(source).wording:
        fields = source.name, f"{source.name}/wording/{word.id}", (f"{source.name}/{word.where}",), ("",)
        yield Finding(word.severity, "wording", word.against, *fields, word.says)


def _paper_names(finding: Finding) -> set[str]:
    return {place.split("/")[0] for place in finding.places}


def altered_records(sources: list[Paper], results: Results) -> list[Finding]:
    """An error for every line of these papers' records that holds and proves no record."""
    names = {source.name for source in sources}
    return [
        Finding("error", "record", "record", fault.path.stem, place, (place,), ("",), fault.reason)
        for fault in results.checked()[1]
        if fault.path.stem in names
        for place in [f"{fault.path}:{fault.line}"]
    ]
