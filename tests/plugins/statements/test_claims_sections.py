import pytest

import repro
from repro.manifest.papers import papers
from repro.plugins.statements.claims_sections import audit_section
from repro.plugins.statements.findings import HELD_AGAINST, Finding


def _shown(name, against="paper"):
    finding = Finding("doubt", "claim", against, name, f"{name}/claim/a", (f"{name}/1",), ("0.1",), "differs")
    return str(audit_section(papers()[name], [finding]))


@pytest.mark.parametrize("against", HELD_AGAINST)
def test_a_finding_says_what_it_is_held_against(against):
    assert f"evidence: {HELD_AGAINST[against]}" in _shown("costa", against)


def test_claims_are_judged_in_the_paper_and_as_measured(tmp_path):
    claims = repro.claims("costa", scale="tiny", workspace=repro.Workspace.open(str(tmp_path / "none")))
    frame = claims.to_frame()
    assert len(frame) == len(claims) and {"says", "published", "measured"} <= set(frame.columns)
    assert set(frame.published) <= {"holds", "fails", "untested"}
    failing = [claim for claim in claims if claim.published.state == "fails"]
    assert len(failing) == (frame.published == "fails").sum() > 0


def test_findings_are_those_of_the_papers_named():
    findings = repro.audit("costa")
    assert set(findings.to_frame().index) == {f.paper for f in findings} >= {"costa"}
    assert all(any(place.startswith("costa/") for place in f.places) for f in findings)


def test_references_are_those_of_the_papers_named():
    references = repro.references("costa")
    assert set(references.to_frame().index) == {"costa"}
    assert {reference.verdict for reference in references} == {"right", "wrong", "partly", "absent"}


def test_records_are_what_lies_in_the_results():
    records = repro.records("cotmae_v2", scale="full")
    frame = records.to_frame()
    assert "cotmae_v2/3/bm25/scifact" in frame.index
    assert list(frame.fingerprint) == [r.fingerprint for r in records]
    assert (frame.scale == "full").all()


def test_a_part_of_a_listing_is_one():
    findings = repro.audit()
    assert len(findings[:3].to_frame()) == 3 and findings[0] is findings[:3][0]
    assert repr(findings[:0]) == "<0 items, see to_frame()>" and findings[:0].to_frame().empty
