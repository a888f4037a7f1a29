"""Courses of the learning rate that transformers has no name for."""

import functools
import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


def logarithmic_warmup_share(step: int, *, warmup: int, total: int) -> float:
    """The share of the peak rate that step ``step``, from 0, is taken with.

        log(step + 1) / log(warmup)             before ``warmup`` (2 at least, as log 1 is 0)
        (total - step) / (total - warmup)       from there on, 0 at ``total``

    The course that DeepSpeed's WarmupDecayLR defines with its ``log`` type.
    """
    warmup = max(2, warmup)
    if step < warmup:
        return math.log(step + 1) / math.log(warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def deepspeed_share(step: int, *, warmup: int, total: int) -> float:
    """The share of the peak rate that step ``step``, from 0, is taken with under DeepSpeed 0.6.0.

    Its scheduler sets no rate before the first step, which is so taken at the peak; it is called after each
    step, so that step t > 0 has what ``logarithmic_warmup_share`` defines for t - 1
    (microsoft/DeepSpeed at v0.6.0, deepspeed/runtime/lr_schedules.py and engine.py).
    """
    return logarithmic_warmup_share(step - 1, warmup=warmup, total=total) if step else 1.0


def share_schedule(share: Callable[..., float], optimizer: Optimizer, *, warmup: int, total: int) -> LambdaLR:
    """The schedule that gives every group of parameters ``share(step)`` of its peak learning rate."""
    return LambdaLR(optimizer, functools.partial(share, warmup=warmup, total=total))


OWN_SCHEDULES = {
    "logarithmic": functools.partial(share_schedule, logarithmic_warmup_share),
    "deepspeed-0.6.0": functools.partial(share_schedule, deepspeed_share),
}
