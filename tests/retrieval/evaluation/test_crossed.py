import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2, nct, norm, t, ttest_1samp

from repro.retrieval.evaluation.crossed import (
    Variances,
    equivalent_at_zero,
    estimate,
    mean_squares,
    of_mean_squares,
    power,
    seeds_needed,
    smallest_seen,
)
from repro.retrieval.evaluation.p_values import holm
from tests.floats import close


def _drawn(rng, queries, seeds, *, of_queries, of_seeds, residual, mean=0.0):
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


def test_a_variance_below_nothing_takes_nothing_off_the_other():
    x = np.array([[1.0, -1.0], [-1.0, 1.0], [4.0, 4.0]])  # seeds have one mean: their mean square is 0
    q, s, r = mean_squares(x)
    assert s == 0 < r < q
    assert estimate(x).error ** 2 * 6 == estimate(x.T).error ** 2 * 6 == pytest.approx(q)
    assert estimate(x).variances.seeds == 0


def test_with_one_seed_or_one_query_nothing_is_said_and_without_a_difference_p_is_one():
    assert estimate([[1.0], [2.0]]) is None and estimate([[1.0, 2.0]]) is None
    same = estimate([[0.0, 0.0], [0.0, 0.0]])
    assert (same.p, same.interval()) == (1.0, (0.0, 0.0))


@pytest.mark.parametrize("of_seeds", [0.0, 0.1, 0.3])
def test_about_one_interval_in_20_misses_the_mean_while_a_test_over_queries_alone_rejects_ever_more(of_seeds):
    """1,500 studies of 200 queries and 5 seeds, no row better: a share of .05 has an error of .006."""
    rng = np.random.default_rng(17)
    missed, means = 0, np.empty((1500, 200))
    for study in range(1500):
        x = _drawn(rng, 200, 5, of_queries=0.6, of_seeds=of_seeds, residual=1)
        low, high = estimate(x).interval()
        missed += not low <= 0 <= high
        means[study] = x.mean(axis=1)
    alone = (ttest_1samp(means, 0, axis=1).pvalue <= 0.05).sum()
    assert 0.025 <= missed / 1500 <= 0.08
    known, whole = 5 * 0.6**2 + 1, 5 * 0.6**2 + 200 * of_seeds**2 + 1  # mean squares: without and with seeds
    expected = 2 * norm.sf(t.ppf(0.975, 199) * (known / whole) ** 0.5)
    assert alone / 1500 == pytest.approx(expected, abs=0.03)
    assert round(expected, 2) >= {0.0: 0.05, 0.1: 0.13, 0.3: 0.46}[of_seeds]


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
    """8,000 studies of 1,000 queries: a share of .0125 has an error of .0012."""
    rng, known = np.random.default_rng(19), Variances(8.75**2, of_seeds**2, 25.7**2)
    each = np.array([999, seeds - 1, 999 * (seeds - 1)])
    expected = np.array([seeds * known.queries, 1000 * known.seeds, 0]) + known.residual
    squares = expected * rng.chisquare(each, (8_000, 3)) / each
    means = rng.normal(0, known.of_mean(1000, seeds) ** 0.5, 8_000)
    found = (
        of_mean_squares(m, s, queries=1000, seeds=seeds) for m, s in zip(means, squares.tolist(), strict=True)
    )
    assert least <= sum(each.p <= level for each in found) / 8_000 <= most


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


SOME = Variances(queries=0.09, seeds=0.004, residual=0.16)


def test_power_where_only_seeds_vary_is_that_of_the_noncentral_t():
    seeds_alone, difference = Variances(0.0, 1.0, 0.0), 1.5
    expected = nct.sf(t.ppf(0.975, 4), 4, difference * 5**0.5)
    assert power(difference, seeds_alone, queries=10, seeds=5, level=0.05) == pytest.approx(
        expected, abs=2e-3
    )


def test_the_means_that_are_rejected_are_those_of_the_estimate():
    """Of a design so small that the degrees of freedom of the residual count."""
    variances, difference = Variances(0.0, 0.0, 1.0), 1.0
    of_seeds = chi2.isf((np.arange(400) + 0.5) / 400, 2) / 2
    least = [of_mean_squares(0.0, (1.0, s, 1.0), queries=3, seeds=3).half_width() for s in of_seeds]
    expected = norm.cdf((difference - np.array(least)) * 3).mean()
    found = power(difference, variances, queries=3, seeds=3, level=0.05)
    close(found, expected)


@pytest.mark.parametrize(
    ("variances", "seeds"),
    [
        (SOME, 5),
        (Variances(0.02, 0.0, 0.12), 5),
        (Variances(0.0, 0.0, 0.14), 3),
        (Variances(0.02, 0.01, 0.12), 3),
    ],
)
def test_four_studies_in_five_see_the_smallest_difference_that_is_seen(variances, seeds):
    """Of 1,000 drawn studies: the share has a standard error of .013."""
    rng = np.random.default_rng(3)
    difference = smallest_seen(variances, queries=200, seeds=seeds, level=0.05)
    names = {"of_queries": "queries", "of_seeds": "seeds", "residual": "residual"}
    deviations = {name: getattr(variances, of) ** 0.5 for name, of in names.items()}
    seen = 0
    for _ in range(1000):
        found = estimate(_drawn(rng, 200, seeds, **deviations, mean=difference))
        seen += found.p <= 0.05 and found.mean > 0
    assert seen / 1000 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("difference", [0.04, 0.06, 0.1])
def test_one_seed_fewer_than_are_needed_is_not_enough(difference):
    design = {"queries": 1000, "level": 0.01}
    needed = seeds_needed(difference, SOME, **design)
    assert power(difference, SOME, seeds=needed, **design) >= 0.8
    assert needed == 2 or power(difference, SOME, seeds=needed - 1, **design) < 0.8


def test_where_nothing_varies_every_difference_is_seen():
    nothing = Variances(0.0, 0.0, 0.0)
    assert smallest_seen(nothing, queries=10, seeds=2, level=0.05) == 0.0
    assert seeds_needed(0.01, nothing, queries=10, level=0.05) == 2


@pytest.mark.parametrize("of_seeds", [0.0, 0.01])
def test_equivalence_at_zero_is_as_frequent_as_in_simulated_studies(of_seeds):
    queries, seeds, matters, found = 200, 5, 0.045, 0
    variances, random = Variances(0.0, of_seeds**2, 0.38**2), np.random.default_rng(3)
    for _ in range(2000):
        shifts = of_seeds * random.normal(size=(1, seeds))
        made = estimate(shifts + 0.38 * random.normal(size=(queries, seeds)))
        low, high = made.interval(0.9)
        found += -matters < low and high < matters
    expected = equivalent_at_zero(matters, variances, queries=queries, seeds=seeds, level=0.05)
    assert 0.2 < expected < 0.95 and found / 2000 == pytest.approx(expected, abs=0.04)


def test_equivalence_is_sure_where_nothing_varies_and_impossible_where_little_matters():
    nothing, much = Variances(0.0, 0.0, 0.0), Variances(0.1, 0.1, 0.1)
    design = {"queries": 50, "seeds": 3, "level": 0.05}
    assert equivalent_at_zero(0.01, nothing, **design) == 1.0
    assert equivalent_at_zero(0.001, much, **design) == pytest.approx(0.0, abs=1e-3)


SPECIAL = """
import sys
from concurrent.futures import ThreadPoolExecutor
from repro.retrieval.evaluation import crossed
def function(number):
    if number % 2:
        import scipy.special
        return scipy.special.stdtr
    return crossed.special().stdtr
threads = int(sys.argv[1])
with ThreadPoolExecutor(threads) as pool:
    assert len(set(pool.map(function, range(threads)))) == 1
assert threads > 1 or "numpy.f2py" not in sys.modules
import scipy.special, scipy.stats
with scipy.special.errstate(all="raise"):
    assert scipy.special.gamma(5) == 24 and scipy.stats.t.ppf(0.5, 3) == 0
"""


@pytest.mark.parametrize("threads", "18")
def test_functions_without_their_package_do_not_disturb_it(threads):
    done = subprocess.run([sys.executable, "-c", SPECIAL, threads], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
