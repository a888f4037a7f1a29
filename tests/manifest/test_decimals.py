"""Digits after the point, and what rounding to them may hide."""

from decimal import Decimal

import pytest

from repro.manifest.printed import decimals_of, half_unit, half_up, percent, shift_point


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
