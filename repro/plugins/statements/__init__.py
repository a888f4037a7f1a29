"""The claims of papers, judged by the paper's numbers, by ours and by others' values, and the audit of
papers.

Its YAML files are claims.yaml (read by ``claims``), audit.yaml (``findings``) and references.yaml
(``references``).
"""

from repro.hooks import Command, answer

API = "repro.plugins.statements.api"


@answer
def commands():
    """Offer ``audit papers`` and ``audit claims``."""
    papers = "the suite's papers: numbers, sentences, references, altered records"
    claims = "sentences, marks and bold numbers, judged by published and measured cells"
    return {
        "audit papers": Command(papers, "repro.plugins.statements.audit_verbs:papers_command"),
        "audit claims": Command(claims, "repro.plugins.statements.audit_verbs:claims_command"),
    }


@answer
def public_names():
    """Offer claims, findings and references to programs."""
    return {name: f"{API}:{name}" for name in ("audit", "claims", "references")}


@answer
def part_of_cell(cell, page):
    """Describe the implausible marks of a cell."""
    if page is None or not cell.printed.marks:
        return None
    from repro.plugins.statements.marks import MarksOfCell

    return MarksOfCell(cell)


@answer
def part_of_paper(sources):
    """Add the sections on claims and on the audit."""
    from repro.plugins.statements.claims_sections import StatementsPart

    return StatementsPart(sources)
