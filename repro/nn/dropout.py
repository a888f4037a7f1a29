"""Dropout at another rate than the checkpoint's."""

from __future__ import annotations

from torch import nn


def set_dropout(model: nn.Module, rate: float) -> None:
    """Every dropout of a model, attention's too, at ``rate`` from now on; its config stays as it is.

    transformers' attention takes the rate from its Dropout module whichever implementation computes it.
    """
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
