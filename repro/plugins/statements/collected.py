"""All findings of the audit."""

from collections.abc import Iterator

from repro.manifest.papers import Paper, papers
from repro.plugins.statements.agreement import disagreements
from repro.plugins.statements.findings import Finding, sort_findings, told_once
from repro.plugins.statements.namesakes import conventions, namesakes
from repro.plugins.statements.notes import Notes, check_use, notes, notes_of
from repro.plugins.statements.references import of_references, other_numbers
from repro.plugins.statements.tables import findings
from repro.store.results import Results


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
