"""All findings of the audit."""

from repro.judging.audit.agreement import disagreements
from repro.judging.audit.findings import Finding, ordered
from repro.judging.audit.notes import notes
from repro.judging.audit.tables import findings
from repro.manifest.papers import Paper, papers
from repro.store.results import Results


def audit(sources: list[Paper]) -> list[Finding]:
    """Find what does not fit in these papers, and between them and all others, in a fixed order.

    Raises ManifestError where a manifest, claims.yaml or audit.yaml is broken.
    """
    known = notes()
    names = {source.name for source in sources}
    between = disagreements(list(papers().values()), known)
    found = [f for f in between if names & {place.split("/")[0] for place in f.places}]
    found += [finding for source in sources for finding in findings(source)]
    return ordered([finding.explained(known.explanation(finding.places)) for finding in found])


def altered_records(sources: list[Paper], results: Results) -> list[Finding]:
    """An error for every line of these papers' records that holds and proves no record."""
    names = {source.name for source in sources}
    return [
        Finding("error", "record", fault.path.stem, (f"{fault.path}:{fault.line}",), ("",), fault.reason)
        for fault in results.checked()[1]
        if fault.path.stem in names
    ]
