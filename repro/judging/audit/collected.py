"""All findings of the audit."""

from repro.judging.audit.agreement import disagreements
from repro.judging.audit.findings import Finding, ordered
from repro.judging.audit.notes import notes
from repro.judging.audit.tables import findings
from repro.manifest.papers import Paper, papers


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
