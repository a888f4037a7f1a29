"""Floating-point operations of a training step, counted by torch as the step is made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

STEPS = 3  # counted; texts differ in length, so one step alone may be off


class Flops:
    """Counts the first ``STEPS`` steps of a training, matrix products and attention, forward and backward.

    What a step computes again (checkpointed activations) is counted again; element-wise work is not counted,
    as is usual. The counter is ``torch.utils.flop_counter``'s, told of attention on a CPU, which it lacks.
    """

    def __init__(self):
        self.counted: list[int] = []

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """One step of training; counted while few have been."""
        if len(self.counted) == STEPS:
            yield
            return
        from torch.utils.flop_counter import FlopCounterMode

        with FlopCounterMode(display=False, custom_mapping=_attention_on_cpu()) as counter:
            yield
        self.counted.append(counter.get_total_flops())

    def facts(self, steps: int) -> dict[str, int]:
        """``flops``: the mean of the counted steps times all ``steps``; empty when none was counted."""
        if not self.counted:
            return {}
        return {"flops": round(sum(self.counted) / len(self.counted) * steps)}


def _attention_on_cpu() -> dict:
    import torch
    from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

    def forward(query, key, value, *args, **kwargs) -> int:
        return sdpa_flop_count(query.shape, key.shape, value.shape)

    def backward(grad, query, key, value, *args, **kwargs) -> int:
        return sdpa_backward_flop_count(grad.shape, query.shape, key.shape, value.shape)

    forward._get_raw = backward._get_raw = True  # torch's word for: called with tensors
    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
