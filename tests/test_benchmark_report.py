"""The page of what was measured is what its records give, and each benchmark has one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
ROWS = [{"tool": "ours", "seconds": 1.5}, {"tool": "theirs", "ratio": 2}]


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)  # its scripts find each other so
    import report

    return report


def test_a_section_is_added_then_replaced_with_its_record(report, tmp_path, capsys):
    path = tmp_path / "RESULTS.md"
    first = report.write("One | two", ROWS, "python one.py", path=path)
    assert capsys.readouterr().out == first + "\n"
    assert "| tool | seconds | ratio |\n| --- | --- | --- |\n| ours | 1.5 |  |\n| theirs |  | 2 |\n" in first
    report.write("Another", ROWS[:1], "python another.py", path=path)
    before = path.read_text()
    assert before.startswith("# ") and before.index("## Another") < before.index("## One")
    changed = report.write("One | two", [{"tool": r"a\1"}], "python one.py", path=path)
    assert path.read_text() == before.replace(first, changed) != before
    assert len(list((tmp_path / "records").iterdir())) == 2


def test_a_section_begins_with_what_its_script_says_when_it_is_rendered(report, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "HERE", tmp_path)
    (tmp_path / "README.md").touch()
    script, path = tmp_path / "bench.py", tmp_path / "RESULTS.md"
    script.write_text('"""The first purpose."""')
    assert "The first purpose." in report.write("Section", ROWS, "python benchmarks/bench.py", path=path)
    script.write_text('"""The second\npurpose.\n\nAnd more."""')
    assert "## Section\n\nThe second purpose.\n\n| tool |" in report.render(path)


def test_hardware_versions_commit_and_command_are_told(report, tmp_path):
    import numpy  # noqa: F401 - only libraries in use are told

    text = report.write("Section", ROWS, "python bench.py --big", path=tmp_path / "RESULTS.md")
    for part in ("`python bench.py --big`", " cores, ", " GiB, ", "Python 3.", "numpy ", "commit ", "20"):
        assert part in text


def test_a_machine_without_git_measures_too(report, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "commit unknown;" in report.write("Section", ROWS, "python bench.py", path=tmp_path / "page.md")


def test_a_command_tells_no_place_of_the_machine(report):
    command = "python benchmarks/encode.py --data /some/where/data --beside ../before --sizes a=1/2"
    assert report.without_places(command) == command.replace("/some/where/data", "…/data")


def test_what_was_measured_beside_others_is_summed_up_above(report, tmp_path):
    peer = report.Beside("a path", "a peer", "seconds", [1.0, 3.0, 1.0], [2.0, 2.0, 2.0], (10, 40))
    earlier = report.Beside("a path", report.BEFORE, "calls", [1], [4])
    path = tmp_path / "RESULTS.md"
    report.write("Some 'section'", ROWS, "python x.py", beside=[peer, earlier], rounds=ROWS, path=path)
    text = path.read_text()
    assert "| [a path](#some-section) | a peer | seconds | **0.50** | 0.50 to 1.50 | 0.25 |" in text
    assert "| [a path](#some-section) | calls | **0.25** | – |" in text
    for ratio in (
        "| of | ours over theirs | least to most | memory, ours over theirs |",
        "| of | now over before |",
    ):
        assert text.count(ratio) == 1
    [record] = [json.loads(file.read_text()) for file in (tmp_path / "records").iterdir()]
    assert record["rounds"] == ROWS and record["beside"][0]["ours"] == [1, 3, 1]


def test_the_page_and_its_figures_are_what_the_records_give(report, tmp_path):
    (tmp_path / "records").symlink_to(FOLDER / "records")
    assert report.render(tmp_path / "RESULTS.md") == (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    drawn, kept = ({f.name: f.read_bytes() for f in (d / "figures").iterdir()} for d in (tmp_path, FOLDER))
    assert drawn == kept


def test_a_figure_is_small_and_follows_light_and_dark_pages(report, tmp_path):
    peers = [report.Beside(f"path {n}", f"peer {n}", "s", [1.0, 2.0], [2.0, 2.0], (1, 2)) for n in range(20)]
    earlier = report.Beside("path", report.BEFORE, "s", [1.0], [2.0])
    steps = [{"objective": "x", "code": "now", "flops": 80, "product": 10, "steps": [[9, 1, 5], [10, 1, 5]]}]
    steps[0]["parts"] = {"products": 0.8, "GELU, LayerNorm": 0.2}
    how = {"of": "texts", "work": "encode", "most": 2.0}
    points = [{"tool": tool, "size": 10**n, "seconds": 1, **how} for n in (3, 4) for tool in ("ours", "peer")]
    path = tmp_path / "RESULTS.md"
    report.write("Steps", [], "python x.py", beside=[*peers, earlier], rounds=steps, path=path)
    report.write("Growth", [], "python y.py", rounds=points, path=path)
    drawn = {file.stem: file.read_text(encoding="utf-8") for file in (tmp_path / "figures").iterdir()}
    assert set(drawn) == {"overview", "before-and-after", "growth", "steps"}
    for name, text in drawn.items():
        assert f"(figures/{name}.svg)" in path.read_text(encoding="utf-8")
        assert len(text) < 30_000 and "prefers-color-scheme:dark" in text and "<text" not in text
        tree = ElementTree.fromstring(text)
        named = {element.get("id") for element in tree.iter()}
        used = {element.get("href")[1:] for element in tree.iter() if element.get("href")}
        assert used and used <= named


def test_the_documentation_has_the_figures():
    linked = FOLDER.parent / "docs/reference/figures"
    assert {path.resolve() for path in linked.iterdir()} == set((FOLDER / "figures").iterdir())


def test_each_benchmark_has_a_record_or_says_why_not(report):
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+\.py)` (.*)$", listed, re.MULTILINE))
    measured = {report.script_of(record["command"]) for record in report.records()}
    assert measured <= set(rows)
    assert [name for name, row in rows.items() if name not in measured and "no record: " not in row] == []


def test_records_name_files_of_their_own_and_tell_what_they_rest_on(report):
    for record in report.records():
        assert (FOLDER / "records" / f"{report.anchor(record['section'])[1]}.json").is_file()
        assert re.fullmatch(r"[0-9a-f]{7,}", record["commit"]) and record["hardware"]["cpu"]


def test_a_benchmark_of_objectives_writes_no_row_of_forms_that_differ(monkeypatch):
    import numpy as np

    monkeypatch.syspath_prepend(FOLDER)
    from benchmarks.objectives import CASES, row

    class Kept(dict):
        files = ("value", "of 0")

    name, cost = next(iter(CASES)), {"peak": 2e6, "seconds": 1.0, "inputs": 1e6, "kept": 1e6}
    expected = Kept({"value": np.float64(100.0), "of 0": np.array([1.0, -10.0])})
    near = Kept({"value": np.float64(100.0005), "of 0": np.array([1.00005, -10.0])})
    told = row(name, cost, near, cost, expected)
    assert (told["value differs by"], told["gradient differs by"]) == ("5e-06", "5e-06")
    for key, wrong in (("value", np.float64(100.002)), ("of 0", np.array([1.0002, -10])), ("value", np.nan)):
        with pytest.raises(SystemExit, match="the lean form differs from the naive one"):
            row(name, cost, Kept(near | {key: wrong}), cost, expected)
