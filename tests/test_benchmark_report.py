from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report import write

ROWS = [{"tool": "ours", "seconds": 1.5}, {"tool": "theirs", "ratio": 2}]


def test_a_section_is_added_then_replaced_where_it_stands(tmp_path, capsys):
    path = tmp_path / "RESULTS.md"
    first = write("One | two", ROWS, "python one.py", path=path)
    assert capsys.readouterr().out == first + "\n"
    assert "| tool | seconds | ratio |\n| --- | --- | --- |\n| ours | 1.5 |  |\n| theirs |  | 2 |\n" in first
    write("Another", ROWS[:1], "python another.py", path=path)
    before = path.read_text()
    assert before.startswith("# Measured\n") and before.index("## One") < before.index("## Another")
    changed = write("One | two", [{"tool": r"a\1"}], "python one.py", path=path)
    assert path.read_text() == before.replace(first, changed) != before


def test_hardware_versions_commit_and_command_are_told(tmp_path):
    import numpy  # noqa: F401 - only libraries in use are told

    text = write("Section", ROWS, "python bench.py --big", path=tmp_path / "RESULTS.md")
    for part in ("`python bench.py --big`", " cores, ", " GiB, ", "Python 3.", "numpy ", "commit ", "20"):
        assert part in text


def test_a_benchmark_of_objectives_writes_no_row_of_forms_that_differ(monkeypatch):
    import numpy as np

    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")  # its scripts find each other so
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
