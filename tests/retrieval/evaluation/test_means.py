import math
import sys

import numpy as np
import pytest

from repro.retrieval.evaluation.means import unpaired_t_test


def test_it_is_the_textbook_formula_of_a_pooled_variance():
    first, second = [0.414, 0.411, 0.416, 0.412], [0.394, 0.399, 0.391]
    means = [sum(group) / len(group) for group in (first, second)]
    squares = sum(
        (value - mean) ** 2 for group, mean in zip((first, second), means, strict=True) for value in group
    )
    degrees = len(first) + len(second) - 2
    expected = (means[0] - means[1]) / math.sqrt(squares / degrees * (1 / len(first) + 1 / len(second)))
    found = unpaired_t_test(first, second)
    assert found.statistic == pytest.approx(expected)
    assert found.degrees == degrees
    assert 0 < found.p < 0.01


def test_it_is_to_the_digit_the_one_of_scipy_and_does_not_load_its_statistics(monkeypatch):
    from scipy.stats import ttest_ind

    random = np.random.default_rng(5)
    groups = [[random.random(random.integers(2, 9)).tolist() for _ in range(2)] for _ in range(50)]
    expected = [ttest_ind(first, second) for first, second in groups]
    monkeypatch.setitem(sys.modules, "scipy.stats", None)  # importing it would fail
    found = [unpaired_t_test(first, second) for first, second in groups]
    assert [(t.statistic, t.p) for t in found] == [(t.statistic, t.pvalue) for t in expected]


def test_exchanging_the_groups_changes_the_sign_alone():
    one, other = unpaired_t_test([1.0, 2.0, 4.0], [3.0, 5.0]), unpaired_t_test([3.0, 5.0], [1.0, 2.0, 4.0])
    assert one.statistic == pytest.approx(-other.statistic)
    assert one.p == pytest.approx(other.p)


@pytest.mark.parametrize("first, second", [([1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 2.0]), ([], [1.0, 2.0])])
def test_without_a_variance_there_is_no_test(first, second):
    assert unpaired_t_test(first, second) is None
