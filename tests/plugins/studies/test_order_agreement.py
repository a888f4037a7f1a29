"""Kendall's tau of the order of methods at two sizes: against its pairs counted in loops, and over seeds.

Of repro/plugins/studies/size_trends.
"""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import kendalltau

from repro.plugins.studies.size_trends import Run, orders, tau_b
from tests.floats import close

SMALL, LARGE = (1.0, 64.0), (2.0, 128.0)
METHODS = "abcde"
SCORES = {
    SMALL: {1: [1, 2, 3, 4, 5], 2: [1, 3, 2, 4, 6], 3: [2, 1, 3, 5, 4]},
    LARGE: {1: [2, 1, 3, 5, 4], 2: [1, 2, 5, 4, 3], 3: [3, 2, 1, 4, 5]},
}


def runs(scores):
    return [
        Run(method, size, seed, score)
        for size, seeds in scores.items()
        for seed, of_seed in seeds.items()
        for method, score in zip(METHODS, of_seed, strict=False)
    ]


def concordance(one, other):
    """Pairs in the same order less those in the other, over all; without ties."""
    signs = [(one[i] - one[j]) * (other[i] - other[j]) for i, j in combinations(range(len(one)), 2)]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(signs)


def test_tau_counts_the_pairs_of_the_means_over_seeds():
    [order] = orders(runs(SCORES))
    means = [
        [sum(of_method) for of_method in zip(*SCORES[size].values(), strict=True)] for size in (SMALL, LARGE)
    ]
    assert order.tau == pytest.approx(concordance(*means))
    assert (order.smaller, order.larger, order.methods, order.seeds) == (SMALL, LARGE, 5, 3)


def test_the_interval_is_that_of_every_draw_of_seeds():
    [order] = orders(runs(SCORES))
    taus = []
    for draw in product((1, 2, 3), repeat=3):
        means = [[sum(SCORES[size][seed][m] for seed in draw) for m in range(5)] for size in (SMALL, LARGE)]
        taus.append(kendalltau(*means).statistic)
    assert order.bounds == pytest.approx(tuple(np.percentile(taus, (2.5, 97.5))))


def test_tau_is_scipys_with_ties_as_without():
    random = np.random.default_rng(0)
    one, other = random.integers(0, 4, (2, 30, 6))
    expected = [kendalltau(*rows).statistic for rows in zip(one, other, strict=True)]
    close(tau_b(one, other), expected)
    assert np.isnan(tau_b(np.ones((1, 4)), np.arange(4.0)[None])).all()


@pytest.mark.parametrize("turn, tau", [(1, 1.0), (-1, -1.0)])
def test_orders_that_all_seeds_agree_on_have_no_width(turn, tau):
    sizes = {
        SMALL: {s: [s + n for n in range(5)] for s in (1, 2, 3)},
        LARGE: {s: [turn * n for n in range(5)] for s in (1, 2, 3)},
    }
    [order] = orders(runs(sizes))
    assert (order.tau, *order.bounds) == pytest.approx((tau, tau, tau))


@pytest.mark.parametrize("seeds", [1, 2])
def test_below_three_seeds_tau_has_no_interval(seeds):
    few = {size: {s: of[s] for s in range(1, seeds + 1)} for size, of in SCORES.items()}
    [order] = orders(runs(few))
    assert order.bounds is None and -1 <= order.tau <= 1


def test_a_method_or_a_seed_that_one_size_lacks_is_left_out():
    lacking = {SMALL: SCORES[SMALL], LARGE: {1: SCORES[LARGE][1][:4], 2: SCORES[LARGE][2][:4], 3: [3]}}
    [order] = orders(runs(lacking))
    assert (order.methods, order.seeds) == (4, 2)


def test_scores_all_alike_have_no_order():
    [order] = orders(runs({SMALL: {1: [1, 1, 1]}, LARGE: {1: [1, 2, 3]}}))
    assert order.tau is None


def test_many_seeds_are_drawn_from_and_give_the_same_interval_again():
    random = np.random.default_rng(1)
    many = {size: {seed: random.normal(range(5), 3) for seed in range(9)} for size in SCORES}
    [one], [other] = orders(runs(many)), orders(runs(many))
    assert one == other and one.bounds[0] < one.tau < one.bounds[1]


def test_every_pair_of_sizes_is_compared():
    three = {**SCORES, (2.0, 64.0): SCORES[SMALL]}
    assert [(o.smaller, o.larger) for o in orders(runs(three))] == list(combinations(sorted(three), 2))
