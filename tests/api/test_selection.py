"""Selections: names of papers, tables and cells, in any mixture, each cell once."""

import repro

CELL = "costa/1/hardneg.costa/dev.rr10"


def test_names_of_all_kinds_are_added_up_and_each_cell_is_there_once():
    cells = [c.id for c in repro.select("simlm", "costa/7", CELL).cells]
    assert len(cells) == len(set(cells)) and cells[0] == CELL
    assert {c.rpartition("/")[0].split("/")[0] for c in cells} == {"simlm", "costa"}
    assert {c.split("/")[1] for c in cells if c.startswith("costa")} == {"1", "7"}


def test_without_names_everything_is_selected():
    assert {c.paper.name for c in repro.select().cells} == set(repro.papers())


def test_a_cell_alone_is_a_cell_and_rows_stay_within_the_tables_named():
    assert [c.id for c in repro.select(CELL).cells] == [CELL]
    systems = repro.select("costa/1", rows=["costa"]).cells
    assert {(c.table.id, c.row.system) for c in systems} == {("1", "costa")}


def test_a_figure_is_a_table_of_its_points():
    points = repro.select("costa/figure-4", scale="tiny")
    assert {c.table.id for c in points.cells} == {"figure-4"} and points.scale == "tiny"
    assert [c.id for c in repro.select("costa", figures=["4"]).cells] == [c.id for c in points.cells]
