"""Courses of the learning rate that transformers has no name for."""

import functools
import math

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


def logarithmic_warmup_share(step: int, *, warmup: int, total: int) -> float:
    """The share of the peak rate that step ``step``, from 0, is taken with.

        log(step + 1) / log(warmup)             before ``warmup`` (2 at least, as log 1 is 0)
        (total - step) / (total - warmup)       from there on, 0 at ``total``

    The course of DeepSpeed's WarmupDecayLR with its ``log`` type. That scheduler takes each value one step
    later than it is defined here, and versions of it take the very first step at the peak rate.
    """
    warmup = max(2, warmup)
    if step < warmup:
        return math.log(step + 1) / math.log(warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def logarithmic(optimizer: Optimizer, *, warmup: int, total: int) -> LambdaLR:
    """A scheduler of ``logarithmic_warmup_share`` for every group of parameters."""
    return LambdaLR(optimizer, functools.partial(logarithmic_warmup_share, warmup=warmup, total=total))


SCHEDULES = {"logarithmic": logarithmic}
