"""Floating-point operations that a training step needs in its model, e.g. none for padding."""

from collections.abc import Sequence

import torch

from repro.retrieval.nn.precision import on_device
from repro.retrieval.training.flop_count import Counter
from repro.retrieval.training.objective import BatchObjective, SumObjective


def needed_operations(objective: SumObjective | BatchObjective, examples: Sequence[dict]) -> int:
    """Return the operations that a step on these examples needs, as MFU counts them.

    Each example is read alone, so padding does not count. A product counts once for forward and once for each
    factor with a gradient. Recomputed operations, and those that depend only on the shape of a batch, do not
    count. No gradient is computed.
    """
    with _NeededCounter() as counter:
        for example in examples:
            objective(on_device(objective.collate([example])))
    return counter.total


class _NeededCounter(Counter):
    def times(self, factors: tuple) -> int:
        """Return 1 for the forward operation, plus 1 for each of its two matrices that needs a gradient.
        Attention with a gradient returns 3."""
        learn = [isinstance(factor, torch.Tensor) and factor.requires_grad for factor in factors]
        if not torch.is_grad_enabled() or not any(learn):
            return 1
        return 3 if len(learn) > 3 else 1 + sum(learn[-2:])
