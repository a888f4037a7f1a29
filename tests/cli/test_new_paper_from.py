"""``repro new paper NAME --from SOURCE``: a draft, or one sentence and nothing written."""

import shutil
from pathlib import Path

import pytest

from repro.cli.verbs import new as scaffold
from repro.manifest.printed import parse

ROOT = Path(__file__).resolve().parents[2]
QUILL = ROOT / "tests/plugins/manuscripts/sources/quill.tex"


@pytest.fixture
def drafted(repro, tmp_path, monkeypatch, papers_in):
    root = tmp_path / "c/papers"
    of_other_papers = shutil.ignore_patterns("others.yaml")
    shutil.copytree(ROOT / "papers/baselines", root / "baselines", ignore=of_other_papers)
    (root / "__init__.py").write_text("")
    (tmp_path / "c/pyproject.toml").write_text("")
    monkeypatch.setattr(scaffold, "ROOT", root)
    said = repro("new paper quill --from", QUILL)
    papers_in(root)
    return said, root / "quill"


def test_the_draft_is_at_hand_and_says_what_it_knows_and_what_it_asks(repro, drafted):
    said, folder = drafted
    assert said.status == 0
    assert {path.name for path in folder.iterdir()} == {
        *("README.md", "__init__.py", "cells.yaml", "halves_contrast.py", "readings.yaml", "recipes.py"),
        "scales.yaml",
    }
    lines = [line.split() for line in said.out.splitlines()]
    assert ["1", "5", "3", "0", "2", "7", "5", f"{QUILL}:17"] in lines
    assert ["2", "5", "1", "4", "0", "3", "1", f"{QUILL}:40"] in lines
    assert "quill.tex:70 is omitted: no heading names a measure" in said.err
    assert "repro run quill --table 1 --scale tiny" in said.err
    shown = repro("show quill --table 1")
    assert shown.status == 0 and "38.9†" in shown.out
    cells = repro("show cells quill --format json").json
    tables = [c["printed"] for c in cells if c["table"] == "1" and c["row"] == "dense.quill-ours"]
    assert tables == ["**38.9†**", "**87.1**", "**98.5**", "71.4", "69.0"]


def test_rows_whose_recipe_is_known_are_planned_at_tiny(repro, drafted):
    planned = repro("plan quill --table 1 --scale tiny --format json")
    assert planned.status == 0
    assert {n["stage"] for n in planned.json} >= {"bm25", "evaluate"}
    evaluated = [n for n in planned.json if n["stage"] == "evaluate"]
    assert len(evaluated) == 3
    told = repro("plan quill --table 1 --scale tiny --row nib --row bm25").err
    assert "no dataset and measure (add both to its column) (4)" in told
    assert "no recipe (add `recipe` to the row) (3)" in told
    path = drafted[1] / "cells.yaml"
    path.write_text(
        path.read_text().replace("'69.0']}", "'69.0'], recipe: passage_row, with: {encoder: halves}}")
    )
    scaffold.papers.cache_clear()
    row = ("--table", "1", "--row", "quill-ours")
    planned = repro("plan quill", *row, "--scale", "tiny", "--format", "json")
    assert planned.status == 0 and "pretrain" in {n["stage"] for n in planned.json}, planned.err


def test_nothing_but_numbers_labels_and_marks_is_copied(drafted):
    _, folder = drafted
    text = "".join(path.read_text() for path in folder.iterdir() if path.is_file())
    for words in ("significant difference", "Passage retrieval", "Zero-shot", "reaches 38.9"):
        assert words not in text


def test_every_number_of_the_source_is_a_cell_and_no_other(drafted):
    from repro.manifest.cells import cells_of
    from repro.manifest.papers import paper

    numbers = [str(c.number) for c in cells_of(paper("quill")) if c.is_numeric]
    source = QUILL.read_text().partition("Settings.")[0]
    assert len(numbers) == 53 and all(n in source for n in numbers)
    bold = [c.text for c in cells_of(paper("quill")) if parse(c.text).bold]
    assert len(bold) == source.count(r"\best{") + source.count(r"\textbf{") - 1


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("absent.tex", None, "absent.tex"),
        ("words.md", "No table is here.\n", "table"),
        ("settings.md", "| a | b |\n|---|---|\n| batch | 64 |\n", "has no table of results"),
        ("paper.bin", "\0\1\2", "paper.bin"),
    ],
)
def test_a_source_without_results_is_one_sentence_and_nothing_is_written(repro, tmp_path, file, text, words):
    if text is not None:
        (tmp_path / file).write_text(text)
    said = repro("new paper quill --from", tmp_path / file, "--dir", tmp_path / "d")
    assert words in said.refusal
    assert not (tmp_path / "d").exists()
