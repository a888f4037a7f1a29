"""Reports of others on a cell, summed up."""

import pytest

from repro.hooks import notes
from repro.manifest.cells import cell
from repro.plugins.reports import reports as module
from repro.plugins.reports.reports import CellReport, Report, Source, others_values, reports
from repro.writers.grid import span

CELL = cell("simlm/2/dense.ance/dev.rr10")
SOURCE = Source(who="independent", name="somebody's repository", repository="a/b", issue=5, date="2024-01-01")


def _made(value, start="checkpoint", match="exact", unit="percent", of=CELL):
    stated = {"cells": (of.id,), "measure": "MRR@10", "dataset": "dev", "source": "x"}
    report = Report(value=value, how={"start": start}, match=match, unit=unit, **stated)
    return CellReport(of, report, SOURCE)


def _of(monkeypatch, *known):
    monkeypatch.setattr(module, "reports", lambda: {CELL.id: known})
    monkeypatch.setattr(module, "_ordered", module._ordered.__wrapped__)
    return others_values(CELL)


def test_the_closest_in_kind_is_a_released_model_beyond_doubt(monkeypatch):
    made = [_made("31.0", "trained"), _made("33.0", match="close"), _made("33.2")]
    of_cell = _of(monkeypatch, *made, _made("32.0", "fine-tuned"))
    assert [report.report.value for report in of_cell] == ["33.2", "31.0", "32.0", "33.0"]
    assert str(of_cell[0].note) == (
        "33.2 somebody's repository (independent): released checkpoint encoded again; match exact;"
        " a/b, issue 5, 2024-01-01"
    )
    assert span([report.note for report in of_cell], CELL) == "31.0 to 33.2"


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
    assert of_cell[0].report.value == closest
    assert of_cell[-1].report.how.start == "trained"


def test_a_value_of_few_digits_is_told_without_an_exponent():
    assert str(_made("0.3", unit="fraction").note).startswith("30 ")


def test_equal_values_span_one_number():
    assert span([_made("33.1").note, _made("33.1").note], CELL) == "33.1"


def test_a_cell_that_nobody_reports_on_has_none(monkeypatch):
    monkeypatch.setattr(module, "reports", dict)
    monkeypatch.setattr(module, "_ordered", module._ordered.__wrapped__)
    assert others_values(CELL) == ()


def test_every_report_of_the_papers_can_be_told():
    for made in reports().values():
        assert [str(note) for note in notes(made[0].cell)]
