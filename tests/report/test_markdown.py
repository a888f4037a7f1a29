"""Verdicts in Markdown, as exact strings."""

from pathlib import Path

import pytest

from repro.errors import UsageError
from repro.report.markdown import BEGIN, END, between, summary, table, verdicts
from tests.report.html.toy import report


def test_what_fails_comes_first_with_its_reason():
    found = report().parts[0].views["full"]
    assert summary(found.comparison, scale="full").splitlines() == [
        "## Verdicts at scale full",
        "",
        "6 cells, 4 measured (2 distinct), 1 failing. 1 have runs by others, which are not counted.",
        "",
        "| cell | published | ours | verdict | why |",
        "| --- | --- | --- | --- | --- |",
        "| `toy/1/g.x/b` | 0.941 | 0.956 | higher | because |",
        "",
        "| paper | table | cells | higher | inconclusive | exact | consistent | blocked | not run |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| toy | 1 | 6 | 1 | 1 | 1 | 1 | 1 | 1 |",
    ]


def test_a_paper_is_one_line_of_a_readme():
    part = report().parts[0]
    covered = {"toy": part.covered}
    assert verdicts(part.views["full"].comparison, covered).splitlines() == [
        "| paper | title | cells | distinct measurements at tiny | at full | pass | fail | neither "
        "| only run by others |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| `toy` | A toy (Nowhere) | 6 | 6 | – | 2 | 1 | 1 | 1 |",
    ]


def test_only_what_stands_between_the_markers_changes():
    text = f"a\n{BEGIN}\nold\n{END}\nb"
    assert between(Path("R"), text, "new") == f"a\n{BEGIN}\nnew\n{END}\nb"
    with pytest.raises(UsageError, match="R must hold"):
        between(Path("R"), f"{END} {BEGIN}", "new")


def test_a_bar_or_a_tag_in_a_cell_does_not_break_its_table():
    assert table(["a"], [["x|y <b>\nz"]]) == ["| a |", "| --- |", "| x\\|y &lt;b> z |", ""]
