import subprocess
import sys

import pytest

from oracles.written import oracles, unreleased_objectives
from repro.errors import ManifestError, UsageError
from repro.manifest import papers as at_hand
from repro.manifest.papers import Paper, known_checkpoints, paper, papers, stated_costs
from repro.plugins.reports.reports import reports
from repro.plugins.settings.schema import completed_step, read_settings


def test_every_paper_has_a_manifest_of_its_own_name():
    assert list(papers()) == sorted(papers())
    for name, source in papers().items():
        assert source.manifest.paper == name


def test_a_wrong_name_lists_the_right_ones():
    with pytest.raises(UsageError, match=r"'costo' is not a known paper. Did you mean costa\? Known: costa"):
        paper("costo")


def test_a_package_called_papers_in_the_working_directory_does_not_shadow_ours(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/__init__.py").write_text("raise SystemExit('the wrong one')")
    found = "from repro.manifest.papers import load; print(load('papers.baselines.recipes:bm25'))"
    code = f"import sys; sys.path.insert(0, ''); {found}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "function bm25" in done.stdout, done.stderr


@pytest.mark.parametrize("kept", [known_checkpoints, oracles, reports, unreleased_objectives])
def test_what_is_kept_of_the_papers_is_made_anew_where_the_papers_are_others(kept, monkeypatch, tmp_path):
    before = kept()
    try:
        monkeypatch.setattr(at_hand, "ROOT", tmp_path)
        at_hand.papers.cache_clear()
        assert len(before) > 0 and len(kept()) == 0
    finally:
        monkeypatch.undo()
        at_hand.papers.cache_clear()
    assert kept() == before


def test_settings_of_other_folders_are_read_only_where_a_step_is_like_one_of_theirs(tmp_path):
    for name, content in {"a": "steps: [{id: x, about: one}]\n", "b": "nonsense"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.yaml").write_text(content)
    folders = {name: tmp_path / name for name in ("a", "b")}
    [step] = read_settings(folders["a"]).steps
    assert completed_step(folders, "a", step).about == "one"
    with pytest.raises(ManifestError):
        completed_step(folders, "a", step.model_copy(update={"like": "b/x"}))


def test_what_papers_say_is_read_and_its_shape_checked(tmp_path):
    said = {name: stated_costs(source) for name, source in papers().items()}
    assert {"costa", "cotmae_v2", "cpdae", "simlm"} <= {name for name, entries in said.items() if entries}
    hours = {str(s.of): s.gpu_hours for s in said["simlm"] if s.hours}
    assert hours == {"pre-training on MS MARCO": 288, "pre-training on Wikipedia": 576}
    assert [s.gpus for s in said["simlm"] if not s.hours] == [4, 8, 4]
    assert "8 GPUs of an unnamed kind, hours not stated" in str(said["simlm"][3])
    assert [s.gpu_hours for s in said["cotmae_v2"]] == [784, None, None]
    assert str(said["cpdae"][0]) == "everything: not stated"
    assert "hours not stated" in str(said["costa"][0])
    made = Paper("made", tmp_path, "made")
    assert stated_costs(made) == ()
    (tmp_path / "costs.yaml").write_text("- {paper: x, of: y, gpus: 1, gpu: a, hours: 2, where: z}\n")
    with pytest.raises(ManifestError, match=r"costs.yaml:1: 0.paper: "):
        stated_costs(made)
