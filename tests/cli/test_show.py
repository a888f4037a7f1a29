"""``repro show``: a table as printed, a figure's plot, all that is known of a cell."""

import pytest

from repro.manifest.cells import numeric_cells, table_of
from repro.manifest.papers import papers
from repro.running.cell_readings import CellReadings

TABLE = """\
toy table 1: one system (fraction; published)

       dev   dl
────────────────
BM25   0.1  0.2*
Other  0.1    –

* better than other by the test of the caption
"""


def _plain(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def test_a_table_is_shown_as_printed_with_what_its_marks_mean(repro, toy, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert _plain(repro("show", "toy", "--table", "1").out) == _plain(TABLE)


def test_a_program_gets_a_line_a_cell(repro, toy):
    assert repro("show", "toy", "--table", "1").out.splitlines() == [
        "cell\tpublished",
        "toy/1/bm25/dev\t0.1",
        "toy/1/bm25/dl\t0.2*",
        "toy/1/other/dev\t0.1",
        "toy/1/other/dl\t-",
    ]


@pytest.mark.parametrize("name", sorted(papers()))
def test_every_table_and_figure_can_be_shown_to_people_and_programs(repro, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    manifest = papers()[name].manifest
    shown = repro("show", name, "--json").json
    assert [item["id"] for item in shown] == [item.id for item in [*manifest.tables, *manifest.figures]]
    said = repro("show", name)
    assert said.status == 0 and said.err == ""
    for table in manifest.tables:
        assert f"{name} table {table.id}: " in said.out
    for figure in manifest.figures:
        assert f"{name} figure {figure.id}: " in said.out


@pytest.mark.parametrize("name", sorted(papers()))
def test_a_cell_of_every_table_is_shown_with_its_facts(repro, name):
    for cell in {c.table.id: c for c in numeric_cells(papers()[name])}.values():
        facts = repro("show", cell.id, "--json").json
        assert facts["id"] == cell.id and facts["printed"] == cell.text
        assert facts["value"] == float(cell.printed.value)
        assert facts["readings"] == list(CellReadings().of(cell))
        assert repro("show", cell.id).out.startswith(f"id:            {cell.id}\n")


def test_only_what_is_asked_for_is_shown(repro):
    [table] = repro("show", "costa", "--table", "1", "--json").json
    assert len(table["rows"]) == len(table_of(papers()["costa"], "1").rows)
    [figure] = repro("show", "costa", "--figure", "4", "--json").json
    assert figure["kind"] == "figure"
    assert repro("show", "costa", "--figure", "4").out.startswith("costa figure 4: ")
