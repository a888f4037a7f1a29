"""Claims, findings and references for Python, e.g. ``repro.claims("PAPER", scale="tiny")``."""

from dataclasses import asdict

from repro.api import Listing
from repro.manifest.papers import sources as sources_named
from repro.plugins.statements.findings import Finding, sort_findings
from repro.plugins.statements.judged import JudgedStatement, judged_at
from repro.plugins.statements.paper_audit import altered_records
from repro.plugins.statements.paper_audit import audit as findings
from repro.plugins.statements.references import Reference, paper_references
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace


def claims(*names: str, scale: str = "full", workspace: Workspace | None = None) -> Listing[JudgedStatement]:
    """Judge sentences, marks and bold numbers of papers (default: all) by the published numbers, by ours at
    ``scale`` and by reported ones. Raises UsageError, ManifestError.

    Example:
        >>> repro.claims("PAPER", scale="tiny").to_frame()
    """
    statements = judged_at(sources_named(names), scale_of(scale), workspace or Workspace.open())
    return Listing(statements, line=_statement_values, index="id")


def audit(*names: str, workspace: Workspace | None = None) -> Listing[Finding]:
    """Return the inconsistencies in papers (all without ``names``), one finding per fact. Raises UsageError,
    ManifestError.

    Example:
        >>> repro.audit("PAPER").to_frame()
    """
    sources = sources_named(names)
    record_findings = altered_records(sources, (workspace or Workspace.open()).results)
    return Listing(sort_findings([*findings(sources), *record_findings]), line=Finding.as_json, index="paper")


def references(*names: str) -> Listing[Reference]:
    """Return the papers' references to tables, equations, sections and works, with verdicts. Raises
    UsageError, ManifestError.

    Example:
        >>> repro.references("PAPER").to_frame()
    """
    all_references = [reference for source in sources_named(names) for reference in paper_references(source)]
    return Listing(all_references, line=asdict, index="paper")


def _statement_values(statement: JudgedStatement) -> dict:
    values = {key: value for key, value in statement.as_json().items() if not isinstance(value, dict)}
    states = {"published": statement.published.state, "measured": statement.ours.state}
    doubts = "; ".join(statement.doubts) or None
    return values | states | {"others": statement.others.state, "doubts": doubts}
