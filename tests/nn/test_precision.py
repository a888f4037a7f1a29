from __future__ import annotations

import pytest
import torch

from repro.errors import BlockedError, UsageError
from repro.nn.precision import autocast, check_precision


def test_full_precision_can_be_had_everywhere():
    assert check_precision("fp32") == "fp32"
    with autocast("fp32"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


@pytest.mark.skipif(torch.cuda.is_available(), reason="half precision can be had here")
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_half_precision_without_a_gpu_is_blocked_with_a_remedy(precision):
    with pytest.raises(BlockedError) as caught:
        check_precision(precision)
    assert caught.value.remedy == "run on a GPU or use --scale tiny"


def test_an_unknown_precision_is_a_usage_error():
    with pytest.raises(UsageError, match="no precision 'half'"):
        check_precision("half")
