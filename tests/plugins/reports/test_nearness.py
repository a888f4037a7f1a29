"""How often reports give the published number, and on which side they lie."""

import pytest

from repro.plugins.reports.quantities import OTHERS, nearnesses
from tests.plugins.reports.reports_of import BM25, FRACTION, PERCENT, quantities, report


def _lines(*made):
    return {(line.kind, line.by): line for line in nearnesses(quantities(*made))}


def test_a_cell_counts_once_by_its_nearest_and_its_median_report():
    lines = _lines(
        report("33.0", FRACTION, PERCENT),
        report("32.6", FRACTION, PERCENT),
        report("32.4", FRACTION, PERCENT),
    )
    line = lines["released model or run", "all"]
    assert (line.reports, line.cells, line.numbers, line.single) == (3, 2, 1, 0)
    assert (line.equal, line.always, line.within, line.lower, line.higher) == (2, 0, (2, 2), 2, 0)
    assert (line.signed, line.size) == (pytest.approx(-0.4), pytest.approx(0.4))


def test_one_number_of_several_tables_counts_once_among_the_distinct():
    line = _lines(report("33.0", FRACTION, PERCENT), report("18.0", BM25))["released model or run", "all"]
    assert (line.equal, line.cells) == (2, 3) and (line.equal_numbers, line.numbers) == (1, 2)


def test_points_are_of_a_percentage_where_the_cell_is_a_fraction():
    line = _lines(report("0.333", FRACTION, unit="fraction"))["released model or run", "all"]
    assert (line.within, line.higher, line.signed) == ((0, 1), 1, pytest.approx(0.3))


def test_training_again_is_counted_by_itself_and_by_how():
    lines = _lines(report("33.1", PERCENT, start="trained"), report("18.0", BM25, start="fine-tuned"))
    assert lines["training again", "all"].cells == 2
    assert lines["training again", "trained from the start"].within == (1, 1)
    assert ("released model or run", "all") not in lines


def test_a_loose_match_is_counted_nowhere():
    assert _lines(report("33.0", PERCENT, match="loose")) == {}


def test_what_authors_state_themselves_can_be_left_out():
    lines = _lines(report("33.0", PERCENT, who="authors", by="makers"), report("32.0", PERCENT))
    assert lines["released model or run", "all"].equal == 1
    assert lines["released model or run", OTHERS].equal == 0
    assert lines["released model or run", "the authors elsewhere"].reports == 1


def test_a_difference_within_the_rounding_is_neither_lower_nor_higher():
    line = _lines(report("33.04", PERCENT))["released model or run", "all"]
    assert (line.lower, line.higher, line.equal, line.always) == (0, 0, 1, 1)
