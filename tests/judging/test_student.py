"""Student's quantile in plain Python is scipy's."""

import pytest
from scipy.special import stdtrit

from repro.judging.query_interval import quantile
from tests.floats import close


def test_it_is_scipys_for_every_number_of_queries():
    freedom = range(1, 10_000)
    found = [quantile(number, 0.975) for number in freedom]
    close(found, stdtrit(list(freedom), 0.975))


@pytest.mark.parametrize("probability", [0.9, 0.95, 0.995])
def test_it_is_scipys_at_other_probabilities(probability):
    freedom = [1, 2, 3, 10, 49, 100, 249, 250, 251, 1000, 6979]
    found = [quantile(number, probability) for number in freedom]
    close(found, stdtrit(freedom, probability))
