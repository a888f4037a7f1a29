"""Claims of papers with their verdicts, findings of their audits, and the records of measurements."""

from collections.abc import Iterable
from dataclasses import asdict

from repro.api.listing import Listing
from repro.manifest.papers import Paper, paper, papers
from repro.plugins.settings.checked import checked_parameters
from repro.plugins.settings.parameter import CheckedParameter
from repro.plugins.statements.collected import altered_records
from repro.plugins.statements.collected import audit as findings
from repro.plugins.statements.findings import Finding, sort_findings
from repro.plugins.statements.judged import JudgedStatement, judged_at
from repro.plugins.statements.references import Reference, paper_references
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace
from repro.store.results import Record


def claims(*names: str, scale: str = "full", workspace: Workspace | None = None) -> Listing[JudgedStatement]:
    """Sentences, marks of significance and bold numbers of papers, judged as published, measured, reported.

    Nothing is run. ``[claim for claim in claims() if claim.fails]`` is what is contradicted.

    Args:
        names: of papers; all of them without a name.
        scale: whose measurements; only ``full`` says something of the paper.

    Raises UsageError for an unknown paper or scale, ManifestError for a broken file of a paper's.
    """
    statements = judged_at(_sources(names), scale_of(scale), workspace or Workspace.open())
    return Listing(statements, line=_statement_values, index="id")


def audit(*names: str, workspace: Workspace | None = None) -> Listing[Finding]:
    """Everything that does not fit in papers, one finding a fact, and records that prove themselves altered.

    Args:
        names: of papers; all of them without a name.

    Raises UsageError for an unknown paper, ManifestError for a broken file of a paper's.
    """
    sources = _sources(names)
    record_findings = altered_records(sources, (workspace or Workspace.open()).results)
    return Listing(sort_findings([*findings(sources), *record_findings]), line=Finding.as_json, index="paper")


def settings(*names: str) -> Listing[CheckedParameter]:
    """The plan at full, parameter by parameter, held against what papers and their released scripts state.

    Args:
        names: of papers; all of them without a name.

    Raises UsageError for an unknown paper, ManifestError for a broken file of a paper's.
    """
    return Listing(
        [item for source in _sources(names) for item in checked_parameters(source)],
        line=CheckedParameter.as_json,
        index="row",
    )


def references(*names: str) -> Listing[Reference]:
    """References of the texts (to tables, equations, sections, works) and their lists, with verdicts.

    Args:
        names: of papers; all of them without a name.

    Raises UsageError for an unknown paper, ManifestError for a broken references.yaml.
    """
    all_references = [reference for source in _sources(names) for reference in paper_references(source)]
    return Listing(all_references, line=asdict, index="paper")


def records(*names: str, scale: str = "full", workspace: Workspace | None = None) -> Listing[Record]:
    """The records of papers at a scale, in the order of recording; of several with one key the latest counts.

    Args:
        names: of papers; all of them without a name.

    Raises UsageError for an unknown paper or scale, DataError for a line that is no record.
    """
    scale_of(scale)
    results = (workspace or Workspace.open()).results
    all_records = [record for source in _sources(names) for record in results.read(scale, source.name)]
    return Listing(all_records, line=asdict, index="cell")


def _sources(names: Iterable[str]) -> list[Paper]:
    return [paper(name) for name in dict.fromkeys(names or papers())]


def _statement_values(statement: JudgedStatement) -> dict:
    values = statement.as_json()
    states = {"published": statement.published.state, "measured": statement.ours.state}
    states |= {"others": statement.others.state, "doubts": "; ".join(statement.doubts) or None}
    return {key: value for key, value in values.items() if not isinstance(value, dict)} | states
