import math

import pytest
from scipy.stats import t

from repro.retrieval.evaluation.p_values import quantile, unpaired_t_test


def test_quantiles_are_those_of_scipy():
    for degrees in (1, 42, 5192, 6979):
        assert quantile(degrees) == pytest.approx(t.ppf(0.975, degrees), rel=1e-12)


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


@pytest.mark.parametrize("first, second", [([1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 2.0]), ([], [1.0, 2.0])])
def test_without_a_variance_there_is_no_test(first, second):
    assert unpaired_t_test(first, second) is None
