"""Counting the operations of a step."""

import torch

from repro.flops import STEPS, Flops


def test_a_matrix_product_and_its_two_gradients_are_counted():
    flops, weight, x = Flops(), torch.randn(5, 7, requires_grad=True), torch.randn(3, 5, requires_grad=True)
    with flops.step():
        (x @ weight).sum().backward()
    assert flops.counted == [3 * 2 * 3 * 5 * 7]  # forward, for x, for the weight; a product and a sum each


def test_attention_on_a_cpu_is_counted():
    flops = Flops()
    query, key, value = (torch.randn(2, 4, 6, 8) for _ in range(3))
    with flops.step():
        torch.nn.functional.scaled_dot_product_attention(query, key, value)
    assert flops.counted == [2 * 2 * (2 * 4) * 6 * 6 * 8]  # query-key and weight-value products


def test_only_the_first_steps_are_counted_and_stand_for_all():
    flops, weight = Flops(), torch.randn(5, 5)
    for rows in (1, 2, 3, 100):
        with flops.step():
            torch.randn(rows, 5) @ weight
    assert len(flops.counted) == STEPS
    assert flops.facts(10) == {"flops": 10 * 2 * 2 * 5 * 5}  # of 1, 2 and 3 rows on the mean


def test_nothing_counted_says_nothing():
    assert Flops().facts(10) == {}
