"""Compared cells as a sequence, a frame and a plot, from committed records."""

import matplotlib
import pytest

import repro
from repro.errors import UsageError


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return repro.compare("costa/1", scale="tiny", workspace=_workspace(tmp_path_factory.mktemp("none")))


def _workspace(store):
    return repro.Workspace.open(str(store / "store"))


def test_a_frame_has_a_line_a_cell_with_numbers_as_numbers(compared):
    frame = compared.to_frame()
    assert list(frame.index) == [c.cell.id for c in compared] and len(frame) == len(compared)
    cell = frame.loc["costa/1/sparse.bm25/dev.rr10"]
    assert cell.published == 0.187 and 0 < cell.measured < 1
    assert cell.verdict == "scaled" and cell.system == "BM25"
    assert all(frame[name].dtype == float for name in ("published", "measured", "difference", "low"))


def test_a_notebook_shows_tables_cells_and_comparisons(compared):
    table = repro.table("costa/1")
    assert "<b>0.366</b>" in table._repr_html_() and "<th" in table.cells._repr_html_()
    assert "<td>costa/1/sparse.bm25/dev.rr10</td>" in table.cell("sparse.bm25", "dev.rr10")._repr_html_()
    assert "<td>0.187 → " in compared._repr_html_()
    assert "<th>verdict</th><td>scaled</td>" in compared[0]._repr_html_()


def test_it_is_counted_as_on_the_command_line(compared):
    published = [c for c in compared if c.cell.is_numeric]
    assert compared.summary.measured == sum(c.measured is not None for c in published)
    assert compared.summary.cells == len(published) == 58 and len(compared) == 66


def test_a_plot_has_a_panel_a_column_and_what_was_measured_in_it(compared, monkeypatch):
    monkeypatch.setattr(matplotlib, "rcParams", matplotlib.rcParams.copy())
    matplotlib.use("Agg")
    panels = compared.plot()
    assert [axes.get_title().replace("\n", " ") for axes in panels] == list(
        repro.table("costa/1").columns.values()
    )
    drawn = [mark.get_label() for mark in panels[0].collections]
    of_column = [c for c in compared if c.cell.column.id == "dev.rr10"]
    assert drawn.count("published") == sum(c.cell.is_numeric for c in of_column)
    assert drawn.count("measured") == sum(c.measured is not None for c in of_column)
    matplotlib.pyplot.close("all")


def test_a_plot_is_of_one_table(tmp_path):
    with pytest.raises(UsageError, match="the cells of one table, not of costa/6, costa/7"):
        repro.compare("costa/6", "costa/7", workspace=_workspace(tmp_path)).plot()


def test_nothing_is_printed_and_no_store_is_made(tmp_path, capsys):
    repro.compare("costa/7", workspace=_workspace(tmp_path))
    assert capsys.readouterr() == ("", "") and list(tmp_path.iterdir()) == []
