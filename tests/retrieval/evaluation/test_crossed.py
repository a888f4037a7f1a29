"""Means over queries and seeds, both samples: against loops, simpler tests, simulation and bootstrap."""

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_1samp

from repro.retrieval.evaluation.crossed import Variances, estimate, mean_squares, of_mean_squares
from repro.retrieval.evaluation.p_values import holm
from tests.floats import close


def _drawn(rng, queries, seeds, *, of_queries, of_seeds, residual, mean=0.0):
    """Scores with these standard deviations."""
    return (
        mean
        + of_queries * rng.normal(size=(queries, 1))
        + of_seeds * rng.normal(size=(1, seeds))
        + residual * rng.normal(size=(queries, seeds))
    )


def test_mean_squares_are_those_of_loops():
    x = np.random.default_rng(0).random((7, 3))
    mean = sum(x[q, s] for q in range(7) for s in range(3)) / 21
    of_query = [sum(x[q, s] for s in range(3)) / 3 for q in range(7)]
    of_seed = [sum(x[q, s] for q in range(7)) / 7 for s in range(3)]
    left = [x[q, s] - of_query[q] - of_seed[s] + mean for q in range(7) for s in range(3)]
    expected = (
        3 * sum((m - mean) ** 2 for m in of_query) / 6,
        7 * sum((m - mean) ** 2 for m in of_seed) / 2,
        sum(r * r for r in left) / 12,
    )
    close(mean_squares(x), expected)


def test_error_and_freedom_are_those_of_the_mean_squares():
    x = _drawn(np.random.default_rng(3), 30, 4, of_queries=1, of_seeds=1, residual=1)
    q, s, r = mean_squares(x)
    found = estimate(x)
    assert min(q, s) > r
    assert found.error**2 * 120 == pytest.approx(q + s - r)
    assert found.freedom == pytest.approx((q + s - r) ** 2 / (q**2 / 29 + s**2 / 3 + r**2 / 87))
    assert found.variances == Variances(*map(pytest.approx, ((q - r) / 4, (s - r) / 30, r)))
    assert found.variances.of_mean(30, 4) == pytest.approx(found.error**2)


@pytest.mark.parametrize("turned", [False, True])
def test_what_seeds_do_not_change_is_tested_over_queries_alone_and_the_other_way_round(turned):
    values = np.random.default_rng(1).normal(0.3, 1, 40)
    x = np.repeat(values[:, None], 5, axis=1)
    found, expected = estimate(x.T if turned else x), ttest_1samp(values, 0)
    close(found.p, expected.pvalue)
    close(found.interval(), expected.confidence_interval())
    assert found.freedom == pytest.approx(39)


def test_neither_order_nor_a_shift_changes_the_error_and_the_mean_follows_both():
    rng = np.random.default_rng(2)
    x = _drawn(rng, 20, 5, of_queries=1, of_seeds=0.5, residual=1)
    one, other = estimate(x), estimate(x[rng.permutation(20)][:, rng.permutation(5)] * -2 + 3)
    assert other.mean == pytest.approx(3 - 2 * one.mean)
    assert (other.error, other.freedom) == pytest.approx((2 * one.error, one.freedom))


def test_a_variance_below_nothing_takes_nothing_off_the_other():
    x = np.array([[1.0, -1.0], [-1.0, 1.0], [4.0, 4.0]])  # seeds have one mean: their mean square is 0
    q, s, r = mean_squares(x)
    assert s == 0 < r < q
    assert estimate(x).error ** 2 * 6 == pytest.approx(q)
    assert estimate(x).variances.seeds == 0


def test_with_one_seed_or_one_query_nothing_is_said_and_without_a_difference_p_is_one():
    assert estimate([[1.0], [2.0]]) is None and estimate([[1.0, 2.0]]) is None
    same = estimate([[0.0, 0.0], [0.0, 0.0]])
    assert (same.p, same.interval()) == (1.0, (0.0, 0.0))


@pytest.mark.parametrize("of_seeds", [0.0, 0.1, 0.3])
def test_about_one_interval_in_20_misses_the_mean_while_a_test_over_queries_alone_rejects_ever_more(of_seeds):
    """1,500 studies of 200 queries and 5 seeds, no row better: a share of .05 has an error of .006."""
    rng = np.random.default_rng(17)
    missed = alone = 0
    for _ in range(1500):
        x = _drawn(rng, 200, 5, of_queries=0.6, of_seeds=of_seeds, residual=1)
        low, high = estimate(x).interval()
        missed += not low <= 0 <= high
        alone += ttest_1samp(x.mean(axis=1), 0).pvalue <= 0.05
    assert 0.025 <= missed / 1500 <= 0.08
    known, whole = 5 * 0.6**2 + 1, 5 * 0.6**2 + 200 * of_seeds**2 + 1  # mean squares: without and with seeds
    expected = 2 * norm.sf(t.ppf(0.975, 199) * (known / whole) ** 0.5)
    assert alone / 1500 == pytest.approx(expected, abs=0.03)
    assert round(expected, 2) >= {0.0: 0.05, 0.1: 0.13, 0.3: 0.46}[of_seeds]


def test_the_error_is_that_of_the_pigeonhole_bootstrap():
    """Queries and seeds drawn anew, each with replacement; of 40 seeds its own bias is small."""
    rng = np.random.default_rng(5)
    x = _drawn(rng, 80, 40, of_queries=1, of_seeds=0.8, residual=1)
    drawn = [x[rng.integers(0, 80, 80)][:, rng.integers(0, 40, 40)].mean() for _ in range(4000)]
    assert estimate(x).error == pytest.approx(np.std(drawn), rel=0.06)


@pytest.mark.parametrize(
    ("seeds", "of_seeds", "level", "least", "most"),
    [
        (5, 0.0, 0.05, 0.02, 0.04),
        (5, 1.99, 0.05, 0.05, 0.065),
        (5, 0.0, 0.0125, 0.002, 0.009),
        (5, 1.99, 0.0125, 0.0125, 0.025),
        (3, 1.0, 0.0125, 0.0125, 0.025),
        (3, 2.0, 0.0125, 0.025, 0.035),
        (2, 1.0, 0.0125, 0.02, 0.035),
        (2, 2.0, 0.0125, 0.05, 0.065),
        (2, 1.0, 0.001, 0.003, 0.01),
        (2, 2.0, 0.001, 0.02, 0.035),
    ],
)
def test_the_level_is_kept_about_as_docstring_and_study_say(seeds, of_seeds, level, least, most):
    """20,000 studies of 1,000 queries: a share of .0125 has an error of .0008."""
    rng, known = np.random.default_rng(19), Variances(8.75**2, of_seeds**2, 25.7**2)
    each = np.array([999, seeds - 1, 999 * (seeds - 1)])
    expected = np.array([seeds * known.queries, 1000 * known.seeds, 0]) + known.residual
    squares = expected * rng.chisquare(each, (20_000, 3)) / each
    means = rng.normal(0, known.of_mean(1000, seeds) ** 0.5, 20_000)
    found = (
        of_mean_squares(m, s, queries=1000, seeds=seeds) for m, s in zip(means, squares.tolist(), strict=True)
    )
    assert least <= sum(each.p <= level for each in found) / 20_000 <= most


@pytest.mark.parametrize(
    ("of_seeds", "least", "most"), [(0, 0.005, 0.03), (1, 0.035, 0.07), (2, 0.05, 0.095)]
)
def test_a_family_without_any_difference_has_one_found_in_it_as_often_as_the_study_says(
    of_seeds, least, most
):
    """2,000 studies of 5 seeds: four rows against one, 200 queries with a fifth of the variances of 1,000."""
    rng, found, fifth = np.random.default_rng(23), 0, 0.2**0.5
    effects = {(5, 200, 5): 25.7 * fifth, (5, 200, 1): 8.75 * fifth, (5, 1, 5): of_seeds}
    for _ in range(2000):
        rows = sum(rng.normal(0, deviation, shape) for shape, deviation in effects.items())
        p = [estimate((row - rows[0]) / 2**0.5).p for row in rows[1:]]  # of a difference deviations are these
        found += min(holm(p)) <= 0.05
    assert least <= found / 2000 <= most
