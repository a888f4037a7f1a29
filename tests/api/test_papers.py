"""Papers and tables as published, as objects and as frames."""

import pytest

import repro
from repro.errors import UsageError


@pytest.mark.parametrize("name", sorted(repro.papers()))
def test_every_table_is_a_frame_of_its_published_numbers(name):
    for table in repro.paper(name).tables.values():
        frame = table.to_frame()
        assert frame.shape == (len(table.rows), len(table.columns))
        assert list(frame.columns) == list(table.columns.values())
        numbers = [float(c.printed.value) for c in table.cells if c.is_numeric]
        assert sorted(frame.stack().dropna()) == sorted(numbers)


def test_a_row_has_its_group_in_its_name_where_two_have_one_label():
    frame = repro.table("costa/1").to_frame()
    assert frame.index.is_unique
    hard = frame.loc["COSTA (Fine-tuning with static hard negatives)", "MARCO Dev Passage MRR@10"]
    assert hard == float(repro.cell("costa/1/hardneg.costa/dev.rr10").printed.value) == 0.366


def test_cells_are_named_by_row_and_column():
    table = repro.paper("costa").table(1)
    assert table.cell("hardneg.costa", "dev.rr10").id == f"{table.name}/hardneg.costa/dev.rr10"
    with pytest.raises(UsageError, match="costa/1 has no row costa"):
        table.cell("costa", "dev.rr10")


def test_the_cells_of_a_paper_are_what_the_command_line_lists(capsys):
    paper = repro.paper("simlm")
    frame = paper.to_frame()
    assert list(frame.index) == [c.id for c in paper.cells] and paper.title.startswith("SimLM")
    assert capsys.readouterr() == ("", "")
