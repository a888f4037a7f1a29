"""What a design of queries and seeds can see: against scipy, by simulation, and at its bounds."""

import numpy as np
import pytest
from scipy.stats import chi2, nct, norm, t

from repro.retrieval.evaluation.crossed import (
    Variances,
    equivalent_at_zero,
    estimate,
    of_mean_squares,
    power,
    seeds_needed,
    smallest_seen,
)
from tests.floats import close

SOME = Variances(queries=0.09, seeds=0.004, residual=0.16)


def test_with_many_seeds_power_is_that_of_the_normal_and_without_a_difference_half_of_the_level():
    error = SOME.of_mean(2000, 1000) ** 0.5
    expected = norm.sf(norm.ppf(0.975) - 3)
    assert power(3 * error, SOME, queries=2000, seeds=1000, level=0.05) == pytest.approx(expected, abs=0.002)
    assert power(0.0, SOME, queries=2000, seeds=1000, level=0.05) == pytest.approx(0.025, abs=0.001)


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


@pytest.mark.parametrize("times", [1, 10, 50, 100, 1000])
def test_power_never_falls_as_the_difference_grows(times):
    one, more = (power(0.05 * n, SOME, queries=300, seeds=5, level=0.01) for n in (times, 2 * times))
    assert one <= more <= 1.0


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
    of_queries, of_seeds, residual = (
        x**0.5 for x in (variances.queries, variances.seeds, variances.residual)
    )
    seen = 0
    for _ in range(1000):
        x = (
            difference
            + of_queries * rng.normal(size=(200, 1))
            + of_seeds * rng.normal(size=seeds)
            + residual * rng.normal(size=(200, seeds))
        )
        found = estimate(x)
        seen += found.p <= 0.05 and found.mean > 0
    assert seen / 1000 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("difference", [0.04, 0.06, 0.1])
def test_one_seed_fewer_than_are_needed_is_not_enough(difference):
    design = {"queries": 1000, "level": 0.01}
    needed = seeds_needed(difference, SOME, **design)
    assert power(difference, SOME, seeds=needed, **design) >= 0.8
    assert needed == 2 or power(difference, SOME, seeds=needed - 1, **design) < 0.8


def test_more_is_needed_for_less_and_no_number_of_seeds_helps_against_queries():
    needed = [seeds_needed(d, SOME, queries=1000, level=0.01) for d in (0.2, 0.1, 0.05)]
    assert needed == sorted(needed) and needed[0] < needed[-1]
    # 300 queries leave an error of .017 with however many seeds
    assert seeds_needed(0.04, SOME, queries=300, level=0.01) is None


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
