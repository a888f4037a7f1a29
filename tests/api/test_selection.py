"""Selections of papers, tables and cells, each cell once."""

import pytest

import repro
from repro.errors import UsageError

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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seeds": "1,2"}, "seeds takes whole numbers below .*, not '1,2'"),
        ({"seeds": (-1,)}, "seeds takes whole numbers below"),
        ({"seeds": 3}, "seeds takes whole numbers below"),
        ({"tables": "12"}, r"tables takes several names, not the text '12'; write \['12'\]"),
        ({"rows": "bert"}, "rows takes several names, not the text 'bert'"),
    ],
)
def test_a_text_is_not_taken_for_the_list_of_its_letters(given, words):
    with pytest.raises(UsageError, match=words):
        repro.select("costa", **given)


def test_a_seed_that_is_given_twice_is_refused():
    with pytest.raises(UsageError, match="seed 2 is given twice"):
        repro.select("costa/1", seeds=[2, 1, 2])
    assert repro.select("costa/1", seeds=[]).seeds == ()
