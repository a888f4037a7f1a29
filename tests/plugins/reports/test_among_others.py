"""The place of a value among the reports on a cell."""

from decimal import Decimal

import pytest

from repro.manifest.cells import cell
from repro.plugins.reports.among_others import among_others, placed
from repro.plugins.reports.reports import CellReport, Report, Source, reports

FRACTION = cell("costa/3/ance/dev.rr10")  # 0.330
PERCENT = cell("simlm/2/dense.ance/dev.rr10")  # 33.0
SOURCE = Source(who="independent", name="somebody's repository", repository="a/b", issue=5, date="2024-01-01")


def _made(value, start="checkpoint", match="exact", unit="fraction", of=FRACTION):
    stated = {"cells": (of.id,), "measure": "MRR@10", "dataset": "dev", "source": "x"}
    report = Report(value=value, how={"start": start}, match=match, unit=unit, **stated)
    return CellReport(of, report, SOURCE)


def _told(value, *known, of=FRACTION):
    return str(placed(of, Decimal(value), known))


def test_a_value_is_placed_among_each_kind_of_making_by_itself():
    known = [_made(value) for value in ("0.338", "0.335", "0.340", "0.339")]
    known += [_made("0.320", "fine-tuned"), _made("0.334", "trained")]
    assert _told("0.3341", *known) == (
        "0.3341; published 0.330; others state 4 values of released checkpoints 0.335 to 0.340 "
        "(yours is below all), 2 trained again 0.320 to 0.334 (yours is equal to the highest)"
    )


@pytest.mark.parametrize(
    ("value", "position"),
    [
        ("0.329", "below all"),
        ("0.3296", "equal to the lowest"),
        ("0.3306", "below 2, above 1"),
        ("0.332", "below 1, equal to 1, above 1"),
        ("0.334", "equal to the highest"),
        ("0.33451", "above all"),
    ],
)
def test_the_position_among_several(value, position):
    told = _told(value, *(_made(stated) for stated in ("0.334", "0.330", "0.332")))
    assert told.endswith(f"state 3 values of released checkpoints 0.330 to 0.334 (yours is {position})")


@pytest.mark.parametrize(
    ("value", "position"), [("0.33", "equal to it"), ("0.3", "below it"), ("0.4", "above it")]
)
def test_a_single_report_is_told_in_the_singular(value, position):
    told = _told(value, _made("0.330", "run"))
    assert told.endswith(f"others state 1 value of a released run 0.330 (yours is {position})")


def test_equal_means_that_the_report_may_be_the_rounding_of_the_value_halves_either_way():
    for value in ("0.3295", "0.3305"):
        assert "equal to it" in _told(value, _made("0.330"))
    for value in ("0.32949", "0.33051"):
        assert "equal to it" not in _told(value, _made("0.330"))


def test_a_short_value_is_exact_and_no_rounding_of_finer_reports():
    assert "(yours is above it)" in _told("0.5", _made("0.457"))
    assert "(yours is equal to all)" in _told("0.33", _made("0.330"), _made("0.33"))


@pytest.mark.parametrize(
    ("value", "position"),
    [("0.457", "equal to"), ("0.46", "equal to"), ("0.5", "equal to"), ("0.47", "above")],
)
def test_a_value_that_is_rounded_is_compared_at_the_coarser_decimals(value, position):
    told = placed(FRACTION, Decimal(value), [_made("0.457")], decimals=len(value) - 2)
    assert str(told).endswith(f"(yours is {position} it)")


def test_the_value_has_a_digit_more_than_is_published_or_two_where_reports_have():
    assert _told("0.33019999", _made("0.330")).startswith("0.3302; published 0.330; ")
    assert _told("0.33019999", _made("0.33017")).startswith("0.33020; published 0.330; ")
    long = _told("0.33019999", _made("0.33017123"), _made("0.33"))
    assert long == (
        "0.33020; published 0.330; "
        "others state 2 values of released checkpoints 0.33 to 0.33017 (yours is equal to 1, above 1)"
    )


def test_reports_are_told_in_the_unit_of_the_cell():
    told = _told("33.2", _made("0.33", of=PERCENT), _made("0.3302", of=PERCENT), of=PERCENT)
    assert told.endswith("33 to 33.02 (yours is equal to 1, above 1)"), "above the finer of two roundings"
    assert "(yours is equal to it)" in _told("30", _made("0.3", of=PERCENT), of=PERCENT)
    assert "0.3302 (yours" in _told("0.3", _made("33.02", unit="percent"))
    assert "30 (yours" in _told("29", _made("0.3", of=PERCENT), of=PERCENT), "no exponent is printed"


def test_loose_matches_are_left_out_and_told():
    sure, loose = _made("0.331"), [_made("0.41", match="loose"), _made("0.4", match="loose")]
    told = placed(FRACTION, Decimal("0.35"), [loose[0], sure, loose[1]])
    assert str(told).endswith(
        "others state 1 value of a released checkpoint 0.331 (yours is above it); "
        "2 values of a loose match 0.4 to 0.41 left out"
    )
    assert told.as_json()["loose"] == [0.4, 0.41]
    assert _told("0.35", loose[1]) == "0.35; published 0.330; 1 value of a loose match 0.4 left out"


def test_plain_values_say_the_same():
    told = placed(FRACTION, Decimal("0.3341"), [_made("0.335"), _made("0.330"), _made("0.31", "trained")])
    plain = told.as_json()
    assert (plain["cell"], plain["value"], plain["published"]) == (FRACTION.id, 0.3341, 0.33)
    assert plain["sentence"] == str(told)
    checkpoints = {"count": 2, "least": 0.33, "most": 0.335, "below": 1, "equal": 0, "above": 1}
    trained = {"count": 1, "least": 0.31, "most": 0.31, "below": 0, "equal": 0, "above": 1}
    starts = [["checkpoint"], ["trained", "fine-tuned"]]
    wanted = [{"how": how} | told for how, told in zip(starts, (checkpoints, trained), strict=True)]
    assert plain["places"] == wanted


def test_a_cell_without_reports_has_no_place(monkeypatch):
    monkeypatch.setattr("repro.plugins.reports.others.reports", dict)
    assert among_others(FRACTION, Decimal("0.33")) is None


def test_every_reported_cell_can_be_told_a_value():
    for made in reports().values():
        told = among_others(made[0].cell, made[0].cell.printed.value)
        assert sum(len(place.values) for place in told.places) + len(told.loose) == len(made)
