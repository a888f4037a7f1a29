"""The gallery in the documentation is the output of the audit on its drafts."""

import importlib.util
from pathlib import Path

import pytest

from repro.plugins.manuscripts.auditing import audited

ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("gallery", ROOT / "docs/gallery.py")
gallery = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gallery)


def test_the_page_is_current():
    assert gallery.page() == gallery.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("tables", gallery.FAULTS)
def test_each_fault_has_a_finding_and_a_draft_without_faults_has_none(tables, tmp_path):
    path = tmp_path / "draft.tex"
    path.write_text(gallery.draft(tables, has_faults=False), encoding="utf-8")
    made = audited(path)
    assert len(made.manuscript.tables) == tables and made.findings == []
    path.write_text(gallery.draft(tables), encoding="utf-8")
    assert len(audited(path).findings) >= len(gallery.FAULTS[tables])
