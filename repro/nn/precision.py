"""The device and the number format that a model runs in."""

from __future__ import annotations

import contextlib

import torch

from repro.errors import BlockedError, check_known
from repro.machine.launcher import local_rank

PRECISIONS = ("fp32", "fp16", "bf16")


def device() -> torch.device:
    """The first CUDA device, of several processes on a machine the one of this process, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device(f"cuda:{local_rank() % torch.cuda.device_count()}")


def check_precision(precision: str) -> str:
    """Return ``precision`` unchanged, once it is known that this machine has it.

    Raises:
        UsageError: no such precision.
        BlockedError: half precision without a GPU; it would be another experiment to run it in fp32 silently.
    """
    check_known("precision", precision, valid=PRECISIONS)
    if precision != "fp32" and not torch.cuda.is_available():
        raise BlockedError(
            f"precision {precision!r} needs a CUDA GPU and none is visible",
            "run on a GPU or use --scale tiny",
        )
    return precision


def autocast(precision: str) -> contextlib.AbstractContextManager:
    """The context in which a forward pass has that precision."""
    if check_precision(precision) == "fp32":
        return contextlib.nullcontext()
    return torch.autocast("cuda", dtype=torch.float16 if precision == "fp16" else torch.bfloat16)
