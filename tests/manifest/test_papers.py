"""Papers are folders; a folder of the user's called papers does not shadow them."""

import subprocess
import sys

import pytest

from repro.errors import UsageError
from repro.manifest.papers import load, paper, papers


def test_every_paper_has_a_manifest_of_its_own_name():
    assert list(papers()) == sorted(papers())
    for name, source in papers().items():
        assert source.manifest.paper == name


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(UsageError, match=r"no paper 'costo' \(did you mean 'costa'\?\); known: costa"):
        paper("costo")


def test_a_package_called_papers_in_the_working_directory_does_not_shadow_ours(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/__init__.py").write_text("raise SystemExit('the wrong one')")
    found = "from repro.manifest.papers import load; print(load('papers.baselines.recipes:bm25'))"
    code = f"import sys; sys.path.insert(0, ''); {found}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "function bm25" in done.stdout, done.stderr


def test_an_object_is_found_by_module_and_name():
    assert load("papers.baselines.recipes:bm25").__name__ == "bm25"
