"""``repro new paper``. tests/end_to_end/test_new_paper.py runs the new paper."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repro.cli.verbs import new as scaffold

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "c/papers").mkdir(parents=True)
    (tmp_path / "c/pyproject.toml").write_text("")
    monkeypatch.setattr(scaffold, "ROOT", tmp_path / "c/papers")
    return tmp_path / "c"


def test_in_a_checkout_the_paper_and_its_test_stand_where_the_others_do(repro, checkout):
    said = repro("new paper fifth")
    assert said.status == 0
    written = {str(p.relative_to(checkout)) for p in checkout.rglob("*") if p.is_file()} - {"pyproject.toml"}
    assert written == {
        *(
            f"papers/fifth/{n}.yaml"
            for n in ("cells", "settings", "readings", "claims", "audit", "costs", "scales")
        ),
        *(f"papers/fifth/{n}.py" for n in ("__init__", "recipes", "halves_contrast")),
        "papers/fifth/README.md",
        "tests/papers/fifth/test_halves_contrast.py",
        "tests/papers/fifth/pretraining_cases.py",
    }
    assert "papers.fifth.halves_contrast:" in (checkout / "papers/fifth/recipes.py").read_text()
    assert "repro run fifth --table 1 --scale tiny" in said.err
    assert f"then, with the extra `dev`: python -m pytest {checkout / 'tests/papers/fifth'}" in said.err
    assert "next: repro report --readme docs/papers/index.md" in said.err


@pytest.mark.parametrize("name", ["null", "on", "yes", "n"])
def test_a_name_that_yaml_takes_for_something_else_stays_a_name(repro, checkout, name):
    from repro.manifest import yaml_file

    assert repro("new paper", name).status == 0
    folder = checkout / "papers" / name
    cells = yaml_file.read(folder / "cells.yaml", dict)
    row = cells["tables"][0]["rows"][1]
    assert [cells["paper"], row["id"], row["label"]] == [name] * 3


def test_with_a_folder_of_its_own_it_is_a_distribution_with_an_entry_point(repro, tmp_path):
    assert repro("new paper fifth --dir", tmp_path / "d").status == 0
    assert 'fifth = "fifth"' in (tmp_path / "d/pyproject.toml").read_text()
    texts = [p.read_text() for p in (tmp_path / "d").rglob("*") if p.is_file()]
    assert len(texts) == 13 and not any("$" in text for text in texts)


@pytest.mark.parametrize("name", ["Fifth", "5th", "a-b", "../x", "", "a/b", "_x"])
def test_what_is_no_package_name_is_refused(repro, tmp_path, name):
    said = repro("new paper --dir", tmp_path / "d", "--", name)
    assert said.refusal.startswith(f"{name!r} is not a package name of lower-case letters")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("costa", "'costa' exists already"),
        ("baselines", "'baselines' exists already"),
        ("json", "an installed Python"),
        ("class", "is a Python keyword"),
    ],
)
def test_a_name_that_is_taken_is_refused(repro, tmp_path, name, words):
    assert words in repro("new paper", name, "--dir", tmp_path / "d").refusal


@pytest.mark.parametrize("there", ["fifth", "tests/test_halves_contrast.py", "pyproject.toml"])
def test_what_is_there_is_not_overwritten(repro, tmp_path, there):
    (tmp_path / "d" / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "d" / there).write_text("mine")
    said = repro("new paper fifth --dir", tmp_path / "d")
    assert "exists already" in said.refusal
    assert [p.read_text() for p in (tmp_path / "d").rglob("*") if p.is_file()] == ["mine"]


def test_writing_it_needs_no_torch(repro, tmp_path, monkeypatch):
    for name in ("torch", "transformers", "pandas", "datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    assert repro("new paper fifth --dir", tmp_path / "d").status == 0


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / f"docs/howto/{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def begin_paper(repro, checkout: Path, *needed: str) -> None:
    repro("new paper fifth")
    for name in needed:
        shutil.copytree(ROOT / "papers" / name, checkout / "papers" / name)
    (checkout / "papers/__init__.py").write_text("")


def test_the_page_on_objectives_trains_one_with_the_settings_of_the_study(repro, checkout, papers_in):
    table, analysis = blocks("add-an-objective", "yaml")
    begin_paper(repro, checkout, "baselines", "head_to_head")
    with (checkout / "papers/fifth/cells.yaml").open("a") as cells:
        cells.write(f"\n{table}")
    (checkout / "papers/fifth/analysis.yaml").write_text(analysis)
    scales = checkout / "papers/fifth/scales.yaml"
    scales.write_text(re.sub(r"^tiny:.*\n", "", scales.read_text(), flags=re.MULTILINE))
    papers_in(checkout / "papers")
    planned = [
        repro("plan fifth --table 2 --row", row, "--scale", "tiny", "--format", "json").json
        for row in ("bert", "halves")
    ]
    theirs, ours = ([n for n in nodes if n["stage"] == "pretrain"][-1]["params"] for nodes in planned)
    names = [params.pop("objective")["name"] for params in (theirs, ours)]
    assert names == ["mlm", "fifth-halves"] and theirs.pop("options") != ours.pop("options")
    assert theirs == ours and ours["max_steps"] > 0


def test_the_worked_diff_of_the_documentation_applies_and_is_planned(repro, checkout, papers_in):
    [diff] = blocks("add-a-paper", "diff")
    begin_paper(repro, checkout, "baselines")
    command = ["git", "apply", "--unidiff-zero", "-"]
    subprocess.run(command, input=diff, cwd=checkout, text=True, check=True)
    papers_in(checkout / "papers")
    selection = ("plan", "fifth", "--table", "1", "--row", "cold", "--scale", "tiny", "--format", "json")
    by_default, without = repro(*selection), repro(*selection, "--reading", "warm-up=none")
    assert (by_default.status, without.status) == (0, 0), by_default.err + without.err
    trained, changed = (
        next(n["params"] for n in said.json if n["params"].get("objective", {}).get("name") == "fifth-halves")
        for said in (by_default, without)
    )
    assert trained["options"]["temperature"] == 0.05
    assert (trained["warmup_ratio"], changed["warmup_ratio"]) == (0.1, 0.0)
    settings = repro("show settings fifth --format json")
    assert "fifth/1/cold" in {item["row"] for item in settings.json}
    assert [item for item in settings.json if item["state"] == "failure"] == []
