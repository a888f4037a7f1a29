"""Reports drawn by a seed."""

from repro.judging.report_draw import draw_reports
from repro.manifest.cells import cell
from repro.manifest.reports import CellReport, Report, Source

CELLS = tuple(cell(f"simlm/2/dense.ance/{column}") for column in ("dev.rr10", "dev.r1000"))
SOURCE = Source(who="toolkit", name="A toolkit", repository="a/b", issue=5, date="2024-01-01")


def _made(value, cells=CELLS[:1], note=""):
    stated = {"cells": [of.id for of in cells], "measure": "x", "dataset": "dev", "source": "a", "note": note}
    report = Report(value=value, how={"start": "checkpoint"}, **stated)
    return [CellReport(of, report, SOURCE) for of in cells]


MANY = [made for value in range(30, 60) for made in _made(str(value))]


def _values(known, count, seed):
    return [one.report.value for one in draw_reports(known, count, seed)]


def test_a_draw_does_not_depend_on_the_order_of_reports_and_is_the_beginning_of_a_larger_one():
    assert _values(MANY[::-1], 5, 19) == _values(MANY, 5, 19) == _values(MANY, 30, 19)[:5]
    assert _values(MANY, 5, 20) != _values(MANY, 5, 19)
    assert sorted(_values(MANY, 100, 19)) == [made.report.value for made in MANY]


def test_a_report_on_several_cells_is_drawn_once():
    assert len(draw_reports([*_made("33.1", CELLS), *_made("33.2")], 10, 0)) == 2


def test_a_note_that_is_mended_or_a_report_that_is_not_drawn_leaves_a_draw_as_it_is():
    mended = [made for value in range(30, 60) for made in _made(str(value), note="mended")]
    assert _values(mended, 5, 19) == _values(MANY, 5, 19)
    last = _values(MANY, 30, 19)[-1]
    assert _values([made for made in MANY if made.report.value != last], 5, 19) == _values(MANY, 5, 19)
