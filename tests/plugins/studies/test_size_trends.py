"""The regression over two sizes: against its normal equations, scipy's, and simulated runs."""

from itertools import product
from math import log, log2, sqrt

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import t

from repro.plugins.studies.size_trends import Run, method_trends

SIZES = [(400.0, 64.0), (400.0, 128.0), (1600.0, 64.0), (1600.0, 128.0)]
LARGER = (25600.0, 768.0)
NOISE = [0.3, -0.2, 0.5, 0.1, -0.4, 0.2, 0.0, -0.1, 0.6, -0.5, 0.2, -0.3]


def runs(difference, *, seeds=(1, 2, 3), sizes=SIZES):
    """Runs of a method whose difference to the reference is a function of size and seed."""
    made = []
    for seed, size in product(seeds, sizes):
        base = 20 + 3 * seed + log(size[0])
        made += [Run("base", size, seed, base), Run("ours", size, seed, base + difference(size, seed))]
    return made


def noisy(size, seed):
    return 1 + log2(size[0]) / 4 - log2(size[1]) / 2 + NOISE[4 * (seed - 1) + SIZES.index(size)]


def solved(matrix, values):
    """Gauss-Jordan elimination."""
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    for i in range(len(rows)):
        rows[i] = [number / rows[i][i] for number in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def test_it_is_the_normal_equations_written_as_loops():
    [trend] = method_trends(runs(noisy), "base", LARGER)
    design = [[1, log2(x), log2(w)] for _ in range(3) for x, w in SIZES]
    values = [noisy(size, seed) for seed in (1, 2, 3) for size in SIZES]
    gram = [[sum(row[i] * row[j] for row in design) for j in range(3)] for i in range(3)]
    fitted = solved(gram, [sum(row[i] * v for row, v in zip(design, values, strict=True)) for i in range(3)])
    errors = [
        v - sum(a * b for a, b in zip(row, fitted, strict=True))
        for row, v in zip(design, values, strict=True)
    ]
    variance = sum(e * e for e in errors) / (12 - 3)
    there = [1, log2(LARGER[0]), log2(LARGER[1])]
    leverage = sum(a * b for a, b in zip(there, solved(gram, there), strict=True))
    half = t.ppf(0.975, 9) * sqrt(variance * (1 + leverage))
    expected = sum(a * b for a, b in zip(there, fitted, strict=True))
    found = trend.extrapolated
    assert (found.value, found.low, found.high) == pytest.approx((expected, expected - half, expected + half))
    assert (trend.runs, trend.freedom, trend.deviation) == (12, 9, pytest.approx(sqrt(variance)))


def test_slopes_and_their_intervals_are_scipys():
    [trend] = method_trends(runs(noisy), "base", LARGER)
    at = np.log2([size for _ in range(3) for size in SIZES]).T
    values = [noisy(size, seed) for seed in (1, 2, 3) for size in SIZES]
    fitted, covariance = curve_fit(lambda at, a, b, c: a + b * at[0] + c * at[1], at, values)
    for slope, value, square in zip(trend.doublings, fitted[1:], np.diag(covariance)[1:], strict=True):
        half = t.ppf(0.975, 9) * sqrt(square)
        assert (slope.value, slope.low, slope.high) == pytest.approx(
            (value, value - half, value + half), rel=1e-5
        )


def test_a_plane_is_found_without_error():
    [trend] = method_trends(runs(lambda size, _: 2 * log2(size[0]) - 3 * log2(size[1])), "base", LARGER)
    assert [slope.value for slope in trend.doublings] == pytest.approx([2, -3])
    found, expected = trend.extrapolated, 2 * log2(LARGER[0]) - 3 * log2(LARGER[1])
    assert (found.low, found.high) == pytest.approx((expected, expected))
    assert trend.means[400.0, 64.0] == pytest.approx(2 * log2(400) - 18)


def test_what_a_seed_does_to_both_runs_of_a_pair_changes_nothing():
    shifted = [Run(r.method, r.size, r.seed, r.score + 10 * r.seed + r.size[1]) for r in runs(noisy)]
    [one], [other] = method_trends(runs(noisy), "base", LARGER), method_trends(shifted, "base", LARGER)
    assert one.extrapolated.low == pytest.approx(other.extrapolated.low)
    assert one.deviation == pytest.approx(other.deviation)


def test_a_larger_size_is_told_with_a_wider_interval():
    near, far = (method_trends(runs(noisy), "base", (x, 128.0))[0].extrapolated for x in (1600.0, 25600.0))
    assert far.high - far.low > near.high - near.low


@pytest.mark.parametrize(
    "few",
    [
        runs(noisy, sizes=SIZES[::2]),  # one width
        runs(noisy, seeds=(1,), sizes=SIZES[:3]),  # no residual
        [
            run for run in runs(noisy) if run.method == "ours" or run.size == SIZES[0]
        ],  # of most sizes no reference
    ],
)
def test_without_runs_to_tell_a_plane_and_its_error_there_is_no_trend(few):
    assert method_trends(few, "base", LARGER) == []


def test_nineteen_of_twenty_new_runs_lie_in_the_interval():
    random, inside, many = np.random.default_rng(0), 0, 300
    for _ in range(many):
        [trend] = method_trends(runs(lambda size, _: log2(size[0]) + random.normal()), "base", LARGER)
        new = log2(LARGER[0]) + random.normal()
        inside += trend.extrapolated.low < new < trend.extrapolated.high
    assert inside / many == pytest.approx(0.95, abs=0.038)  # three standard errors


@pytest.mark.parametrize("shift, sign", [(0, 0), (60, 1), (-60, -1)])
def test_a_sign_is_told_where_the_interval_leaves_out_zero(shift, sign):
    [trend] = method_trends(runs(lambda size, seed: shift + noisy(size, seed)), "base", SIZES[-1])
    assert trend.extrapolated.sign == sign
