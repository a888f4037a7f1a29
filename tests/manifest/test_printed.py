"""Printed cells are read as a careful reader would."""

from decimal import Decimal

import pytest

from repro.manifest.printed import decimals_of, half_unit, half_up, parse, percent, shift_point


@pytest.mark.parametrize(
    ("text", "value", "decimals", "marks", "bold", "delta"),
    [
        ("0.316", "0.316", 3, "", False, None),
        ("0.340", "0.340", 3, "", False, None),
        ("0.950*", "0.950", 3, "*", False, None),
        ("0.95", "0.95", 2, "", False, None),
        ("**0.342*†‡**", "0.342", 3, "*†‡", True, None),
        ("**0.355***", "0.355", 3, "*", True, None),
        ("**0.909**†", "0.909", 3, "†", True, None),
        ("0.782*†", "0.782", 3, "*†", False, None),
        ("51.2*", "51.2", 1, "*", False, None),
        ("40.1 (-1.3)", "40.1", 1, "", False, "-1.3"),
        (">150GB", "150", 0, "", False, None),
        ("27GB", "27", 0, "", False, None),
    ],
)
def test_number_marks_bold_and_delta_are_told_apart(text, value, decimals, marks, bold, delta):
    cell = parse(text)
    assert (cell.value, cell.decimals, cell.marks, cell.bold) == (Decimal(value), decimals, marks, bold)
    assert cell.delta == (None if delta is None else Decimal(delta))


@pytest.mark.parametrize("text", ["-", "–", ""])
def test_a_dash_is_no_number(text):
    assert parse(text).is_dash
    assert parse(text).value is None


@pytest.mark.parametrize("text", ["Two-stage", "0.34.2", "**0.3", "n.a."])
def test_words_and_broken_numbers_have_no_value(text):
    cell = parse(text)
    assert cell.value is None
    assert not cell.is_dash


def test_a_bound_is_kept():
    assert parse(">150GB").bound == ">"
    assert parse(">150GB").plain == ">150GB"


@pytest.mark.parametrize(("text", "decimals"), [("0.340", 3), ("34", 0), ("1E+2", 0), ("-0.5", 1)])
def test_zeros_behind_the_point_are_digits_and_an_exponent_is_none(text, decimals):
    assert decimals_of(Decimal(text)) == decimals


def test_rounding_moves_a_number_by_half_a_unit_at_most():
    exact, shown = Decimal("0.3415"), Decimal("0.341")
    assert exact - shown == half_unit(decimals_of(shown)) == Decimal("0.0005")
    assert half_unit(0) == Decimal("0.5")


def test_a_fraction_in_percent_keeps_its_digits_and_shows_no_exponent():
    assert str(percent(Decimal("0.340"), "fraction")) == "34.0"
    assert str(percent(Decimal("34.0"), "percent")) == "34.0" and str(shift_point("2", 2)) == "200"


def test_halves_go_away_from_zero():
    assert [str(half_up(Decimal(text), 1)) for text in ("0.25", "-0.25", "0.249")] == ["0.3", "-0.3", "0.2"]
