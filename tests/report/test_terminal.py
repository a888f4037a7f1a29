"""What the terminal shows is compared as exact strings."""

import io

from rich.console import Console

from repro.judging.comparison import Compared, Comparison
from repro.judging.verdict import Verdict
from repro.manifest.cells import Cell, cells_of
from repro.manifest.papers import Paper
from repro.manifest.schema import Manifest
from repro.report.beside import compared_table
from repro.report.terminal import printed_table
from repro.store.results import Record

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
                {"id": "a", "head": ["Dev", "MRR@10"], "dataset": "d", "measure": "RR@10"},
                {"id": "b", "head": ["R@50"], "dataset": "d", "measure": "R@50"},
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
p table 1: a table (percent; print)
           Dev MRR@10   R@50
 ───────────────────────────
 Group
 X               31.6      –
 Y       34.2* (+2.6)   94.1
"""
BESIDE = """\
p table 1: a table (percent; scale full)
                   Dev MRR@10      R@50
 ──────────────────────────────────────
 Group
 a X     print           31.6         –
         ours      31.6 exact
 b Y     print           34.2      94.1
         ours    36.0ᵃ higher   not run
"""


def _paper(**changes):
    facts = {**FACTS, "tables": [{**FACTS["tables"][0], **changes}]}

    class Made(Paper):
        manifest = Manifest.model_validate(facts)

    return Made("p", None, "papers.p")


def _shown(view):
    stream = io.StringIO()
    Console(file=stream, width=100, highlight=False).print(view)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines() if line.strip()) + "\n"


def _squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_table_as_printed():
    paper = _paper()
    table = paper.manifest.tables[0]
    assert _shown(printed_table("p", table, cells_of(paper, (table,)))) == PRINTED


def test_a_transposed_table_has_its_systems_across():
    paper = _paper(transposed=True)
    table = paper.manifest.tables[0]
    lines = _squeezed(_shown(printed_table("p", table, cells_of(paper, (table,)))))
    assert lines[1] == "X Y"
    assert lines[3:] == ["Dev MRR@10 31.6 34.2* (+2.6)", "R@50 – 94.1"]


def _compared(paper, row, column, value, name):
    table = paper.manifest.tables[0]
    rows, columns = table.rows, table.columns
    cell = Cell(paper, table, rows[row], columns[column], rows[row].cells[column])
    records = (Record(cell.id, "full", value, None, "f", 1, 0),) if value is not None else ()
    return Compared(cell, "full", records, Verdict(name, ""))


def _comparison(paper):
    cells = [
        _compared(paper, 0, 0, 31.58, "exact"),
        _compared(paper, 1, 0, 36.04, "higher"),
        _compared(paper, 1, 1, None, "not run"),
    ]
    test = {
        "max_p": 0.05,
        "measures": {
            "RR@10": {
                "names": ["g.x", "g.y"],
                "means": [0.3158, 0.3604],
                "p": [[None, 0.01], [0.01, None]],
            }
        },
    }
    return Comparison(cells, {("p", "1", "d"): test})


def test_ours_stands_beneath_print_with_its_verdict_and_the_rows_it_beats():
    comparison = _comparison(_paper())
    assert _shown(compared_table(comparison, comparison.cells)) == BESIDE


def test_a_row_beats_another_only_when_it_is_better_and_significant():
    comparison = _comparison(_paper())
    assert comparison.betters(comparison.cells[1]) == ["g.x"]
    assert comparison.betters(comparison.cells[0]) == []
    comparison.tests[("p", "1", "d")]["measures"]["RR@10"]["p"] = [[None, 0.06], [0.06, None]]
    assert comparison.betters(comparison.cells[1]) == []
