from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t, ttest_1samp

from repro.manifest.printed import parse
from repro.store.results import Record
from repro.verdicts.compared import QueryInterval, query_interval
from tests.floats import close

SCORES = np.random.default_rng(0).random(43) * 100


def _record(scores, **changes):
    facts = {"queries": len(scores), "deviation": float(np.std(scores, ddof=1)), **changes}
    return Record(
        "c", "full", float(np.mean(scores)), None, "f", missing=0, measure="RR@10", unit="percent", **facts
    )


def test_the_interval_is_that_of_students_one_sample_t():
    found, expected = query_interval([_record(SCORES)]), ttest_1samp(SCORES, 0).confidence_interval(0.95)
    close((found.low, found.high), (expected.low, expected.high))
    assert found.queries == 43


def test_of_several_seeds_it_is_no_narrower_than_that_of_their_mean():
    seeds = [SCORES, SCORES + np.random.default_rng(1).normal(0, 5, 43)]
    found, exact = query_interval([_record(s) for s in seeds]), query_interval([_record(sum(seeds) / 2)])
    assert found.low <= exact.low < exact.high <= found.high
    assert found.high - found.low == pytest.approx(exact.high - exact.low, rel=0.1)


def test_the_deviation_of_several_seeds_is_the_mean_of_theirs():
    found = query_interval([_record(SCORES), _record(SCORES / 2), _record(SCORES + 3)])
    deviation, mean = np.std(SCORES, ddof=1) * 2.5 / 3, (np.mean(SCORES) * 2.5 + 3) / 3
    half = t.ppf(0.975, 42) * deviation / 43**0.5
    close((found.low, found.high), (mean - half, mean + half))


@pytest.mark.parametrize(("mean", "expected"), [(99.5, (99.5 - 3.078, 100)), (1.5, (0, 1.5 + 3.078))])
def test_it_ends_where_the_measure_does(mean, expected):
    found = query_interval([replace(_record(SCORES), measured=mean, deviation=10.0)])
    assert (found.low, found.high) == pytest.approx(expected, abs=0.001)
    found = query_interval([replace(_record(SCORES), measured=0.995, deviation=0.1, unit="fraction")])
    assert (found.low, found.high) == pytest.approx((0.995 - 0.03078, 1), abs=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{"deviation": None}, {"queries": 1}, {"deviation": 0.0}],
    ids=["an average", "one query", "all found"],
)
def test_what_says_nothing_about_its_queries_has_none(changes):
    assert query_interval([_record(SCORES, **changes)]) is None and query_interval([]) is None


def test_a_published_number_is_as_wide_as_its_rounding():
    interval = QueryInterval(0.312, 0.3149, 43)
    assert [interval.holds(parse(text)) for text in ("0.315", "0.31", "0.316", "0.320")] == [
        True,
        True,
        False,
        False,
    ]
    assert [interval.holds(parse(text)) for text in ("-", ">0.3")] == [None, None]
