"""A page for every table, in Markdown."""

from dataclasses import replace

import pytest

from repro.verdicts.compared import Comparison, ImportedRun
from repro.verdicts.verdict import Verdict
from repro.writers.table_pages import table_pages
from tests.writers.html.toy import report


def _pages(full, rehearsal=None, **row):
    rehearsal = report(scale="tiny").parts[0].view.compared if rehearsal is None else rehearsal
    return table_pages(*(Comparison([_changed(c, row) for c in cells]) for cells in (full, rehearsal)))


def _changed(c, row):
    return replace(c, cell=replace(c.cell, row=c.cell.row.model_copy(update=row)))


@pytest.fixture
def cells():
    return report().parts[0].view.compared


def test_a_page_a_table_and_one_that_leads_to_them(cells):
    pages = _pages(cells)
    assert list(pages) == ["index.md", "toy-table1.md"]
    [line] = [line for line in pages["index.md"].splitlines() if "toy-table1.md" in line]
    assert line == "| [toy, table 1](toy-table1.md) | two systems | 6 | 4 | 1 | 4 |"


def test_a_row_has_its_commands_and_what_was_published_and_measured(cells):
    text = _pages(cells, recipe="papers.baselines.recipes:bm25")["toy-table1.md"]
    assert "| [Y](#g-y) | **0.342\\*†** | 0.959 → 0.974 |" in text
    section = text[text.index("### X { #g-x }") : text.index("### Y { #g-y }")]
    assert section.splitlines()[2:-1] == [
        "```bash",
        "repro run toy --table 1 --row g.x",
        "repro run toy --table 1 --row g.x --scale tiny",
        "```",
        "",
        "| column | measure | published | measured | verdict | at tiny |",
        "| --- | --- | --- | --- | --- | --- |",
        "| Dev MRR@10 | `RR@10` on `msmarco-passage/dev/small` | 0.316 | 0.331 | exact | 0.331 |",
        "| Dev R@1k | `R@1000` on `msmarco-passage/dev/small` | 0.941 | 0.956 | higher | 0.956 |",
    ]


def test_a_row_that_nothing_measures_says_why_and_has_no_command(cells):
    text = _pages(cells, not_measurable="its weights [v1] are lost")["toy-table1.md"]
    assert "No command measures this row: its weights \\[v1\\] are lost." in text and "repro run" not in text


def test_a_run_of_others_has_a_column_of_its_own_and_what_is_not_measured_no_verdict(cells):
    first, *others = cells
    record = replace(first.records[0], measured=0.3333, origin={"toolkit": "Toolkit"})
    run = ImportedRun(record, Verdict("higher", "because", difference=0.0173))
    cell = replace(first, records=(), verdict=Verdict("blocked", ""), imported=(run,))
    text = _pages([cell, *others])["toy-table1.md"]
    [line] = [line for line in text.splitlines() if "0.333 higher (Toolkit)" in line]
    assert line.split(" | ")[3:5] == ["–", "–"] and "blocked" not in text


@pytest.mark.needs_plugins
def test_a_row_that_others_report_links_to_the_place_of_the_closest(cells):
    text = _pages(cells)["toy-table1.md"]
    section = text[text.index("### X { #h-x }") :]
    assert "| published | measured | verdict | at tiny | reported elsewhere |" in section
    address = f"https://github.com/a/b/blob/{0:040}/its%20results.md"
    told = f"0.3352 (released checkpoint encoded again, [A toolkit]({address}); 2 values, 0.3352 to 0.339)"
    assert f"| 0.335 | – | – | – | {told} |" in section
    assert "reported elsewhere |" not in text[text.index("### X { #g-x }") : text.index("### X { #h-x }")]
