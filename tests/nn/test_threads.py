"""Small models run on one thread, and nothing is left changed."""

import torch
from torch import nn

from repro.nn.threads import SMALL, threads_for


def test_a_small_model_has_one_thread_and_the_number_is_restored():
    before = torch.get_num_threads()
    with threads_for(nn.Linear(4, 4)):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_a_large_model_keeps_its_threads():
    before = torch.get_num_threads()
    with torch.device("meta"):
        large = nn.Linear(2000, SMALL // 2000)
    with threads_for(large):
        assert torch.get_num_threads() == before
