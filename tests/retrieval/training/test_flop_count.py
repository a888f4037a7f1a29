"""Counting the operations of a step."""

import torch

from repro.retrieval.training.flop_count import STEPS, Flops


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


def test_the_count_is_that_of_torchs_own_counter(tmp_path):
    from torch.utils.flop_counter import FlopCounterMode

    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    x, flops = torch.randn(5, 6), Flops()
    with FlopCounterMode(display=False) as theirs:
        model(x).square().mean().backward()
    with flops.step():
        model(x).square().mean().backward()
    assert flops.counted == [theirs.get_total_flops()]


def test_a_module_called_outside_the_graph_with_what_is_in_it_is_counted():
    layer, flops = torch.nn.Linear(4, 4), Flops()
    hidden = layer(torch.randn(2, 4))
    with flops.step(), torch.no_grad():
        layer(hidden.view(2, 4))
    assert flops.counted == [2 * 2 * 4 * 4]
