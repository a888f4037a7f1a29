"""Floating-point operations of a training step, counted by torch as the step is made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

STEPS = 3  # counted; texts differ in length, so one step alone may be off


class Flops:
    """Counts the first ``STEPS`` steps of a training, matrix products and attention, forward and backward.

    What a step computes again (checkpointed activations) is counted again; element-wise work is not counted,
    as is usual. The formulas are those of ``torch.utils.flop_counter`` and, for attention on a CPU, which it
    lacks, the same; its counter itself hooks into modules, which an objective that steps out of the graph
    does not survive.
    """

    def __init__(self):
        self.counted: list[int] = []

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """One step of training; counted while few have been."""
        if len(self.counted) == STEPS:
            yield
            return
        with _counter() as counter:
            yield
        self.counted.append(counter.total)

    def facts(self, steps: int) -> dict[str, int]:
        """``flops``: the mean of the counted steps times all ``steps``; empty when none was counted."""
        if not self.counted:
            return {}
        return {"flops": round(sum(self.counted) / len(self.counted) * steps)}


def _counter():
    """A context that adds up the operations of what runs in it, as its ``total``."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    formulas = {**flop_registry, **_attention_on_cpu()}

    class Counter(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if func._overloadpacket not in formulas:
                with self:  # an operation made of others is counted as those
                    result = func.decompose(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            result = func(*args, **kwargs)
            if func._overloadpacket in formulas:
                self.total += formulas[func._overloadpacket](*args, **kwargs, out_val=result)
            return result

    return Counter()


def _attention_on_cpu() -> dict:
    import torch
    from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

    def forward(query, key, value, *args, **kwargs) -> int:
        return sdpa_flop_count(query.shape, key.shape, value.shape)

    def backward(grad, query, key, value, *args, **kwargs) -> int:
        return sdpa_backward_flop_count(grad.shape, query.shape, key.shape, value.shape)

    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
