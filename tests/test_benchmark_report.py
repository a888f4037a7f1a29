from __future__ import annotations

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
