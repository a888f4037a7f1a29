import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from repro.errors import DataError
from repro.retrieval.evaluation.significance import (
    RESAMPLES,
    bootstrap_interval,
    holm,
    pairwise_tests,
    permutation_p,
    seed_of,
    sign_flips,
)
from tests.floats import close


def scores(systems: int, queries: int, *, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    base = random.random(queries)
    noisy = [base + 0.3 * random.standard_normal(queries) + 0.06 * s for s in range(systems)]
    return np.round(8 * np.clip(noisy, 0, 1)) / 8


def ids(count: int) -> list[str]:
    return [f"q{i}" for i in range(count)]


def scipys_test(first, second, resamples):
    def mean_difference(a, b, axis=-1):
        return np.mean(a - b, axis=axis)

    return stats.permutation_test(
        (first, second),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        rng=1,
    )


@pytest.mark.parametrize("queries", [2, 5, 9, 13])
def test_all_sign_flips_give_scipys_exact_p(queries):
    made = scores(3, queries, seed=queries)
    found = permutation_p(made, resamples=RESAMPLES, seed=0)
    for i in range(3):
        for j in range(3):
            theirs = scipys_test(made[i], made[j], np.inf)
            close(found[i, j], theirs.pvalue)


def test_drawn_flips_give_scipys_p_for_the_same_flips_and_statistic():
    made = scores(2, 60)
    flips = np.concatenate(list(sign_flips(60, resamples=5000, seed=3)))
    assert flips.shape == (5000, 60)
    assert set(np.unique(flips)) == {-1.0, 1.0}
    difference = made[0] - made[1]
    theirs = stats.monte_carlo_test(
        difference,
        lambda size: flips * difference,
        lambda x, axis: np.abs(x.sum(axis=axis)),
        n_resamples=5000,
        alternative="greater",
        vectorized=True,
    )
    found = permutation_p(made, resamples=5000, seed=3)
    assert found[0, 1] == found[1, 0]
    close(found[0, 1], theirs.pvalue)
    assert 0.0002 < found[0, 1] < 1


def test_the_bootstrap_interval_is_scipys_for_the_same_generator():
    made = scores(3, 30)
    low, high = bootstrap_interval(made, resamples=500, seed=9)
    for i, j in ((0, 1), (2, 0)):
        theirs = stats.bootstrap(
            (made[i] - made[j],),
            np.mean,
            n_resamples=500,
            batch=256,
            method="percentile",
            rng=np.random.default_rng(9),
        ).confidence_interval
        close(low[i, j], theirs.low)
        close(high[i, j], theirs.high)
        assert low[i, j] < high[i, j]


def test_p_is_never_zero_where_flips_are_drawn():
    apart = np.stack([np.ones(300), np.zeros(300)])
    found = pairwise_tests(apart, ids(300), "RR@10")
    assert found["permutation_p"][0][1] == 1 / (RESAMPLES + 1)
    assert found["exact"] is False


def test_few_queries_get_more_draws_and_very_few_all_flips():
    assert pairwise_tests(scores(2, 100), ids(100), "RR@10")["resamples"] == 100_000
    assert pairwise_tests(scores(2, 101), ids(101), "RR@10")["resamples"] == 10_000
    assert pairwise_tests(scores(2, 12), ids(12), "RR@10")["exact"] is True


def test_effect_size_is_the_mean_difference_over_its_standard_deviation():
    made = scores(2, 50)
    found = pairwise_tests(made, ids(50), "nDCG@10")
    difference = made[0] - made[1]
    close(found["difference"][0][1], difference.mean())
    assert found["effect_size"][0][1] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert found["effect_size"][1][0] == pytest.approx(-found["effect_size"][0][1])
    t = stats.ttest_rel(made[0], made[1]).statistic
    assert found["effect_size"][0][1] * math.sqrt(50) == pytest.approx(t)


def test_other_systems_in_the_table_leave_a_pairs_p_and_interval_as_they_are():
    made = scores(4, 80)
    alone, among = pairwise_tests(made[:2], ids(80), "RR@10"), pairwise_tests(made, ids(80), "RR@10")
    assert alone["permutation_p"][0][1] == among["permutation_p"][0][1]
    close(alone["interval"][0][1], among["interval"][0][1])


def test_identical_systems_have_p_one_and_no_effect_size():
    one = scores(1, 40)[0]
    found = pairwise_tests(np.stack([one, one]), ids(40), "RR@10")
    assert found["permutation_p"][0][1] == found["holm_p"][0][1] == 1.0
    assert found["effect_size"][0][1] is None
    assert found["interval"][0][1] == [0.0, 0.0]


def test_a_constant_difference_has_no_effect_size_but_a_p():
    one = scores(1, 40)[0] / 2
    found = pairwise_tests(np.stack([one + 0.1, one]), ids(40), "RR@10")
    assert found["effect_size"][0][1] is None
    assert found["permutation_p"][0][1] < 0.001


def test_one_query_is_no_sample():
    found = pairwise_tests(np.array([[1.0], [0.5]]), ["q"], "RR@10")
    assert found["difference"] == [[None, 0.5], [-0.5, None]]
    for key in ("permutation_p", "holm_p", "effect_size", "interval"):
        assert found[key] == [[None, None], [None, None]]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_refused(bad):
    made = scores(2, 5)
    made[1, 3] = bad
    with pytest.raises(DataError, match=r"RR@10 of system 2 on query 'q3' is (nan|inf), not a finite number"):
        pairwise_tests(made, ids(5), "RR@10")


def test_holm_is_its_definition_as_loops():
    p_values = [0.01, 0.04, 0.03, 0.005, 0.5]
    order = sorted(range(5), key=lambda i: p_values[i])
    expected = [0.0] * 5
    for step, i in enumerate(order):
        expected[i] = max(min(1.0, (5 - k) * p_values[order[k]]) for k in range(step + 1))
    assert holm(p_values) == pytest.approx(expected)
    assert holm(p_values) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])


def test_what_was_not_tested_does_not_count_in_the_family():
    assert holm([None, 0.01, math.nan, 0.04]) == [None, 0.02, None, 0.04]
    assert holm([None]) == [None]


def test_the_family_is_every_system_against_one_reference():
    found = pairwise_tests(scores(4, 60), ids(60), "RR@10")
    for i in range(4):
        assert found["holm_p"][i] == holm(found["permutation_p"][i])
        assert found["holm_p"][i][i] is None


def test_another_process_draws_the_same():
    code = (
        "import json, numpy as np; from repro.retrieval.evaluation.significance import pairwise_tests\n"
        "made = np.random.default_rng(4).random((3, 200))\n"
        "print(json.dumps(pairwise_tests(made, [str(i) for i in range(200)], 'RR@10')))"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = pairwise_tests(np.random.default_rng(4).random((3, 200)), [str(i) for i in range(200)], "RR@10")
    assert json.loads(elsewhere.stdout) == here


def test_the_seed_follows_the_measure_and_the_queries():
    assert seed_of("RR@10", ["1", "2"]) == seed_of("RR@10", ["1", "2"])
    assert len({seed_of("RR@10", ["1", "2"]), seed_of("R@10", ["1", "2"]), seed_of("RR@10", ["1", "3"])}) == 3
