"""Printed cells are read as a careful reader would."""

from decimal import Decimal

import pytest

from repro.manifest.printed import parse


@pytest.mark.parametrize(
    ("text", "value", "decimals", "marks", "bold", "delta"),
    [
        ("0.316", "0.316", 3, "", False, None),
        ("0.340", "0.340", 3, "", False, None),
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


def test_trailing_zeros_count_as_printed_decimals():
    assert parse("0.950*").decimals == 3
    assert parse("0.95").decimals == 2


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
