"""Dropout at another rate than the checkpoint's."""

from __future__ import annotations

from torch import nn

from repro.errors import UsageError


def set_dropout(model: nn.Module, rate: float) -> None:
    """Every dropout of a model, attention's too, at ``rate`` from now on; its config stays as it is.

    transformers' attention takes the rate from its Dropout module whichever implementation computes it.
    Raises UsageError where the rate is no probability below 1.
    """
    if not 0 <= rate < 1:
        raise UsageError(f"a dropout of {rate!r} is impossible; give a rate from 0 to below 1")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
