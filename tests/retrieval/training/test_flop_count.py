import torch
from torch import nn

from benchmarks.needed_operations import needed_operations
from repro.retrieval.training.flop_count import STEPS, Flops


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


def test_a_module_called_outside_the_graph_with_what_is_in_it_is_counted():
    layer, flops = torch.nn.Linear(4, 4), Flops()
    hidden = layer(torch.randn(2, 4))
    with flops.step(), torch.no_grad():
        layer(hidden.view(2, 4))
    assert flops.counted == [2 * 2 * 4 * 4]


def test_what_nothing_is_learnt_of_counts_once():
    frozen, learning = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 4)

    class Both(nn.Module):
        def collate(self, examples):
            return {"x": torch.ones(len(examples), 4)}

        def forward(self, batch):
            return {"sum": learning(frozen(batch["x"])).sum()}

    assert needed_operations(Both(), [{}]) == 2 * 4 * 4 + 2 * (2 * 4 * 4)  # no gradient of what is frozen
