"""Cells have addresses, and a selection names what it cannot find."""

import pytest

from repro.errors import UsageError
from repro.manifest.cells import cell, select


def _select(*names, tables=(), rows=(), cells=()):
    return select(names, tables=tables, rows=rows, cells=cells)


def test_a_row_may_be_named_whole_or_by_its_system_in_every_group():
    for name, expected in (("bert", {"bm25neg.bert", "hardneg.bert"}), ("hardneg.bert", {"hardneg.bert"})):
        assert {c.row.id for c in _select("costa", tables=("1",), rows=(name,))} == expected


def test_a_point_of_a_figure_is_named_by_its_whole_number():
    figure = ("figure-temperature",)
    chosen = _select("head_to_head", tables=figure, rows=("0.1",))
    assert {c.row.id for c in chosen} >= {"cls.0.1", "words.0.1"} and {c.row.label for c in chosen} == {"0.1"}
    assert {c.row.label for c in _select("head_to_head", tables=figure, rows=("1",))} == {"1"}
    with pytest.raises(UsageError, match=r"the selection has no row 03. Did you mean"):
        _select("head_to_head", tables=figure, rows=("03",))


def test_dashes_are_not_selected():
    chosen = _select("costa", tables=("1",))
    assert all(c.is_numeric for c in chosen if c.role != "reference")
    assert [c.row.system for c in chosen if not c.is_numeric] == ["untrained"] * 4 + ["no-pre-training"] * 4


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("costa/1/bm25", "PAPER/TABLE/ROW/COLUMN"),
        ("costo/1/a/b", "Did you mean costa"),
        ("costa/9/a/b", "costa has no table 9. Its tables: 1, 2"),
        ("costa/1/bm26/dev.rr10", "costa/1 has no row bm26"),
        ("costa/1/sparse.bm25/dev.rr11", "Did you mean dev.rr10"),
    ],
)
def test_every_part_of_a_wrong_address_is_named(wrong, said):
    with pytest.raises(UsageError) as error:
        cell(wrong)
    assert said in str(error.value)


def test_a_row_that_no_selected_table_has_is_named_with_those_it_has():
    with pytest.raises(UsageError, match="Did you mean bert"):
        _select("costa", tables=("1",), rows=("berd",))


def test_every_paper_together_has_the_cells_that_were_counted():
    for name, number in {"costa": 157, "cpdae": 100, "cotmae_v2": 221, "simlm": 133}.items():
        assert sum(c.is_numeric for c in _select(name)) == number, name


def test_a_provenance_mark_decides_the_role_of_its_cell():
    roles = {c.column.id: c.role for c in _select("simlm", tables=("2",), rows=("cocondenser",))}
    assert set(roles.values()) == {"cited", "rerun"}
