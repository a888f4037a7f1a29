"""Reports of others on a cell, summed up."""

from decimal import Decimal

import pytest

from repro.manifest.cells import cell
from repro.plugins.reports.cell import in_a_line
from repro.plugins.reports.others import OthersValues, others_values
from repro.plugins.reports.reports import CellReport, Report, Source, reports

CELL = cell("simlm/2/dense.ance/dev.rr10")  # 33.0 percent
SOURCE = Source(who="independent", name="somebody's repository", repository="a/b", issue=5, date="2024-01-01")


def _made(value, start="checkpoint", match="exact", unit="percent", of=CELL):
    stated = {"cells": (of.id,), "measure": "MRR@10", "dataset": "dev", "source": "x"}
    report = Report(value=value, how={"start": start}, match=match, unit=unit, **stated)
    return CellReport(of, report, SOURCE)


def _of(monkeypatch, *known):
    monkeypatch.setattr("repro.plugins.reports.others.reports", lambda: {CELL.id: known})
    return others_values(CELL)


def test_the_closest_in_kind_is_a_released_model_beyond_doubt(monkeypatch):
    made = [_made("31.0", "trained"), _made("33.0", match="close"), _made("33.2")]
    of_cell = _of(monkeypatch, *made, _made("32.0", "fine-tuned"))
    assert of_cell.closest.report.value == "33.2"
    assert of_cell.span == (Decimal("31.0"), Decimal("33.2"))
    assert str(of_cell) == (
        "4 values, 31.0 to 33.2; closest in kind 33.2 (somebody's repository, released checkpoint encoded"
        " again; a/b, issue 5, 2024-01-01)"
    )


@pytest.mark.parametrize(
    ("values", "closest"),
    [
        (("33.0", "31.0", "32.0"), "32.0"),
        (("33.0", "31.0", "32.0", "35.0"), "32.0"),
        (("33.0", "36.0"), "36.0"),
        (("34.0", "32.0"), "32.0"),
    ],
)
def test_of_several_of_one_kind_the_median_counts_and_not_the_nearest_to_the_published(
    monkeypatch, values, closest
):
    of_cell = _of(monkeypatch, *map(_made, values), _made("33.0", "trained"))
    assert of_cell.closest.report.value == closest
    assert of_cell.reports[-1].report.how.start == "trained"


def test_a_value_of_few_digits_is_told_without_an_exponent():
    coarse = OthersValues(CELL, (_made("0.3", unit="fraction"),))
    assert str(coarse).startswith("1 value, 30; closest in kind 30 (")
    assert in_a_line(coarse.closest).startswith("30 ")


def test_a_single_report_is_told_in_the_singular():
    assert str(OthersValues(CELL, (_made("33.1"),))).startswith("1 value, 33.1; ")


def test_a_cell_that_nobody_reports_on_has_none(monkeypatch):
    monkeypatch.setattr("repro.plugins.reports.others.reports", dict)
    assert others_values(CELL) is None


def test_every_report_of_the_papers_can_be_told():
    for made in reports().values():
        assert str(others_values(made[0].cell))
