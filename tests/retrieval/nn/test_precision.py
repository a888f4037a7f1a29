import os

import pytest
import torch
from torch import nn

from repro.errors import BlockedError, UsageError
from repro.machine import kernels
from repro.retrieval.nn.precision import SMALL, autocast, check_precision, threads_for


def test_tests_are_of_the_cpu_beside_a_gpu_too():
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "" and not torch.cuda.is_available()


def test_full_precision_can_be_had_everywhere():
    assert check_precision("fp32") == "fp32"
    with autocast("fp32"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_half_precision_without_a_gpu_is_blocked_with_a_remedy(precision):
    with pytest.raises(BlockedError) as caught:
        check_precision(precision)
    assert caught.value.remedy == "run on a GPU, or use fp32"


def test_an_unknown_precision_is_a_usage_error():
    with pytest.raises(UsageError, match="'half' is not a known precision"):
        check_precision("half")


def test_a_small_model_has_one_thread_and_the_number_is_restored():
    before = torch.get_num_threads()
    with threads_for(nn.Linear(4, 4)):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("is_pinned", "number"), [(False, 3), (True, 4)])
def test_a_large_model_keeps_its_threads_unless_bits_are_to_be_those_of_every_machine(
    is_pinned, number, monkeypatch
):
    monkeypatch.setattr(kernels, "is_pinned", lambda: is_pinned)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    numbers = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    with torch.device("meta"):
        large = nn.Linear(2000, SMALL // 2000)
    with threads_for(large):
        assert numbers == [number]
    assert numbers == [number, 3]
