"""Reports of others on a cell, summed up."""

from decimal import Decimal

from repro.judging.reported import Reported, reported
from repro.manifest.cells import cell
from repro.manifest.reports import CellReport, Report, Source, reports

CELL = cell("simlm/2/dense.ance/dev.rr10")  # 33.0 percent
SOURCE = Source(who="independent", name="somebody's repository", repository="a/b", issue=5, date="2024-01-01")


def _made(value, start="checkpoint", match="exact", unit="percent", of=CELL):
    stated = {"cells": (of.id,), "measure": "MRR@10", "dataset": "dev", "source": "x"}
    report = Report(value=value, how={"start": start}, match=match, unit=unit, **stated)
    return CellReport(of, report, SOURCE)


def test_the_closest_in_kind_is_a_released_model_beyond_doubt_then_the_nearest(monkeypatch):
    known = [_made("31.0", "trained"), _made("33.0", match="close"), _made("32.0"), _made("33.2")]
    monkeypatch.setattr("repro.judging.reported.reports", lambda: {CELL.id: tuple(known)})
    of_cell = reported(CELL)
    assert of_cell.closest.report.value == "33.2"
    assert of_cell.span == (Decimal("31.0"), Decimal("33.2"))
    assert str(of_cell) == (
        "4 reports, 31.0 to 33.2; closest in kind 33.2 (somebody's repository, released checkpoint encoded"
        " again; a/b, issue 5, 2024-01-01)"
    )


def test_a_single_report_is_told_in_the_singular():
    assert str(Reported(CELL, (_made("33.1"),))).startswith("1 report, 33.1; ")


def test_a_cell_that_nobody_reports_on_has_none(monkeypatch):
    monkeypatch.setattr("repro.judging.reported.reports", dict)
    assert reported(CELL) is None


def test_every_report_of_the_papers_can_be_told():
    for made in reports().values():
        assert str(reported(made[0].cell))
