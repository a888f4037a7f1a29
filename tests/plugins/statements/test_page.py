"""The audit of a paper on the page: what findings are held against, and its references counted."""

import pytest

from repro.manifest.papers import papers
from repro.plugins.statements.findings import HELD_AGAINST, Finding
from repro.plugins.statements.page import audit_section


def _shown(name, against="paper"):
    finding = Finding("doubt", "claim", against, name, f"{name}/claim/a", (f"{name}/1",), ("0.1",), "differs")
    return str(audit_section(papers()[name], [finding]))


@pytest.mark.parametrize("against", HELD_AGAINST)
def test_a_finding_says_what_it_is_held_against(against):
    assert f"held against: {HELD_AGAINST[against]}" in _shown("costa", against)


def test_references_are_counted_where_they_are_listed():
    assert "Of 135 references to tables, equations, sections and works 114 are right" in _shown("costa")
    assert "references to tables" not in _shown("head_to_head")
