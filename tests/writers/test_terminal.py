"""What the terminal shows is compared as exact strings."""

import io
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console

from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Manifest
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell, Comparison, ImportedRun
from repro.verdicts.plain_values import cell_as_row
from repro.verdicts.verdict import Doubt, Verdict
from repro.writers.grid import Grid, best_measured, compared_grid, letter_ranges
from repro.writers.terminal import against_paper, compared_table, printed_table
from tests.made_up_reports import notes_on
from tests.verdicts.test_effects import made
from tests.writers.html.toy import report
from tests.writers.test_latex import TESTS

FACTS = {
    "paper": "p",
    "title": "T",
    "tables": [
        {
            "id": "1",
            "about": "a table",
            "unit": "percent",
            "bold": "column",
            "columns": [
                {"id": "a", "head": ["Dev", "MRR@10"], "dataset": "cranfield", "measure": "RR@10"},
                {"id": "b", "head": ["R@50"], "dataset": "cranfield", "measure": "R@50"},
            ],
            "groups": [{"id": "g", "label": "Group"}],
            "rows": [
                {"id": "g.x", "group": "g", "label": "X", "cells": ["31.6", "-"]},
                {"id": "g.y", "group": "g", "label": "Y", "cells": ["**34.2*** (+2.6)", "94.1"]},
            ],
        }
    ],
}
PRINTED = """\
p table 1: a table (percent; published)
       Dev
   MRR@10        R@50
─────────────────────
Group
X  31.6             –
Y  34.2* (+2.6)  94.1
"""
BESIDE = """\
p table 1: a table (percent; scale full; published above measured)
                Dev
            MRR@10           R@50
─────────────────────────────────
Group
a X         31.6                –
  measured  31.6 exact
b Y         34.2* (+2.6)     94.1
  measured  36.0ᵃ higher  not run
"""


def _paper(**changes):
    facts = {**FACTS, "tables": [{**FACTS["tables"][0], **changes}]}

    class Made(Paper):
        manifest = Manifest.model_validate(facts)

    return Made("p", None, "papers.p")


def _shown(view, width=100):
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(view)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip()) + "\n"


def _squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_table_as_printed():
    paper = _paper()
    table = paper.manifest.tables[0]
    assert _shown(printed_table("p", table, cells_of(paper, (table,)))) == PRINTED


def _compared(paper, row, column, value, name):
    table = paper.manifest.tables[0]
    rows, columns = table.rows, table.columns
    cell = Cell(paper, table, rows[row], columns[column], rows[row].cells[column])
    facts = ("full", value, None, "f", 1, 0, "RR@10", cell.unit)
    records = () if value is None else (Record(cell.id, *facts),)
    return ComparedCell(cell, "full", records, Verdict(name, ""))


def _comparison(paper):
    cells = [
        _compared(paper, 0, 0, 31.58, "exact"),
        _compared(paper, 1, 0, 36.04, "higher"),
        _compared(paper, 1, 1, None, "not run"),
    ]
    return Comparison(cells, deepcopy(TESTS))


def test_ours_stands_beneath_print_with_its_verdict_and_the_rows_it_beats():
    comparison = _comparison(_paper())
    assert _shown(compared_table(comparison, comparison.cells)) == BESIDE


def test_a_number_that_is_not_of_the_manifest_as_it_is_stands_in_brackets_and_beats_none():
    first, second, third = _comparison(_paper()).cells
    outdated = replace(second, doubts=(Doubt("outdated", "the recipe has changed since this was measured"),))
    comparison = Comparison([first, outdated, third], _comparison(_paper()).tests)
    lines = _squeezed(_shown(compared_table(comparison, comparison.cells)))
    assert lines[-1] == "measured (36.0) higher not run"
    assert comparison.betters(outdated) == comparison.pairs(outdated) == []


def test_a_cell_that_a_reading_measures_otherwise_has_the_tests_of_that_measure():
    comparison = _comparison(_paper())
    cell = comparison.cells[1]
    other = replace(cell, records=(replace(cell.records[0], measure="Success@5"),))
    assert comparison.betters(other) == []
    [tests] = comparison.tests.values()
    tests["measures"]["Success@5"] = tests["measures"]["RR@10"]
    assert comparison.betters(other) == ["g.x"]


def test_a_row_beats_another_only_when_it_is_better_and_significant():
    comparison = _comparison(_paper())
    assert comparison.betters(comparison.cells[1]) == ["g.x"]
    assert comparison.betters(comparison.cells[0]) == []
    comparison.tests[("p", "1", "cranfield")]["measures"]["RR@10"]["holm_student_p"] = [
        [None, 0.06],
        [0.06, None],
    ]
    assert comparison.betters(comparison.cells[1]) == []


ROWS = [SimpleNamespace(id=i, label=i.upper()) for i in ("bert", "ict", "mine")]
COLUMNS = [SimpleNamespace(id="dev", label="Dev MRR@10", head=("Dev", "MRR@10"))]
GRID = Grid(SimpleNamespace(transposed=False), ROWS, COLUMNS, {})


def test_order_and_gains_stand_beneath_a_table():
    rows = (("bert", "0.30", 0.28, "rerun"), ("ict", "0.32", 0.31, "rerun"), ("mine", "0.36", 0.34, "ours"))
    cells = [made(*row, role=role, column="dev") for *row, role in rows]
    lines = [line.split() for line in _shown(against_paper(cells, GRID)).splitlines()]
    assert ["order", "of", "rows,", "tau", "1.00", "(3", "rows)"] in lines
    assert ["MINE", "over", "BERT", "1.00,", "-0.014"] in lines
    assert ["MINE", "over", "ICT", "0.75,", "+0.028"] in lines


@pytest.mark.parametrize("transposed", [False, True])
def test_differences_intervals_and_runs_of_others_stand_with_what_they_are_of(transposed):
    first, second, _ = _comparison(_paper(transposed=transposed)).cells
    record = replace(first.records[0], queries=43, deviation=20.0)
    verdict = Verdict("exact", "", difference=-0.02)
    theirs = ImportedRun(replace(record, origin={"file": "a.trec"}), Verdict("not comparable", ""))
    cells = [replace(first, records=(record,), verdict=verdict), replace(second, imported=(theirs,))]
    shown = " ".join(_squeezed(_shown(compared_table(Comparison(cells), cells))))
    assert "difference" in shown and "95 % over queries" in shown
    assert "-0.0" in shown and "25.4 to 37.7" in shown
    assert "run by others" in shown and "31.6 not comparable" in shown


def _with_reports(cells):
    first, second, third = cells
    several = (*notes_on(first.cell, "31.58", match="close"), *notes_on(first.cell, "30"))
    doubtful = notes_on(second.cell, "36.0487", start="trained", match="loose")
    return [replace(first, notes=several), replace(second, notes=doubtful), third]


@pytest.mark.needs_plugins
def test_the_closest_report_stands_below_ours_and_the_span_where_there_are_several():
    cells = _with_reports(_comparison(_paper()).cells)
    lines = _squeezed(_shown(compared_table(Comparison(cells), cells)))
    assert lines[4:] == [
        "Group",
        "a X 31.6 –",
        "measured 31.6 exact",
        "reported elsewhere 31.58 ~checkpoint",
        "range elsewhere 2: 30 to 31.58",
        "b Y 34.2* (+2.6) 94.1",
        "measured 36.0 higher not run",
        "reported elsewhere 36.05 ?trained",  # one decimal more than is published
    ]


@pytest.mark.needs_plugins
def test_below_full_scale_where_nothing_is_compared_no_reports_are_shown():
    cells = [replace(c, scale="tiny") for c in _with_reports(_comparison(_paper()).cells)]
    assert "others" not in _shown(compared_table(Comparison(cells), cells))
    fields = cell_as_row(cells[0])
    assert (fields["others"], fields["others_count"]) == (31.58, 2)
    assert (fields["others_least"], fields["others_most"]) == (30, 31.58)
    assert (fields["others_how"], fields["others_match"]) == ("checkpoint", "close")


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [("", ""), ("b", "b"), ("cb", "bc"), ("bcd", "b-d"), ("aefgi", "ae-gi"), ("abde", "abde")],
)
def test_three_neighbours_or_more_are_a_range(chosen, shown):
    assert "".join(letter_ranges(chosen, "abcdefghi")) == shown


def test_the_best_measured_number_of_a_column_is_the_largest_and_a_lone_one_is_none():
    cells = report().parts[0].view.compared
    grid = compared_grid(cells)
    best = best_measured(grid)
    for column in {c.cell.column.id for c in cells}:
        of_column = [c for c in cells if c.cell.column.id == column and c.measured is not None]
        numbers = {c.cell.row.id: c.measured for c in of_column}
        marked = {row for row, place in best if place == column}
        assert marked == ({max(numbers, key=numbers.get)} if len(numbers) > 1 else set())
    assert best_measured(compared_grid(cells[:1])) == frozenset()
