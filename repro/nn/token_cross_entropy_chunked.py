"""Cross-entropy of many predicted tokens without all their logits at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils.checkpoint import checkpoint

from repro.nn.token_cross_entropy import IGNORED, Tensors, token_cross_entropy


def chunked_token_cross_entropy(
    hidden: torch.Tensor,
    head: Callable[[torch.Tensor], torch.Tensor],
    labels: torch.Tensor,
    *,
    reduction: str,
    chunk: int | None,
) -> torch.Tensor:
    """``token_cross_entropy(head(hidden), labels)`` with the logits of ``chunk`` positions at a time.

    They are computed again for the gradient: 64 texts of 512 tokens would have logits of 4 GB, and as much
    again for their gradient. Value and gradient are those of the plain form, which is taken where a single
    chunk holds everything.

    Args:
        hidden: (M, H).
        head: (m, H) to (m, V) logits; no dropout, as it runs twice.
        labels: (M,), token ids, IGNORED where there is nothing to predict; at least one label.
        reduction: ``mean`` or ``sum``, over all M positions.
        chunk: positions at a time; None for all.
    """
    assert reduction in ("mean", "sum"), reduction

    def total(states: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return token_cross_entropy(head(states), wanted, reduction="sum")

    if chunk is None or len(hidden) <= chunk:
        return token_cross_entropy(head(hidden), labels, reduction=reduction)
    parts = [
        checkpoint(total, states, wanted, use_reentrant=False, preserve_rng_state=False)
        for states, wanted in zip(hidden.split(chunk), labels.split(chunk), strict=True)
    ]
    loss = torch.stack(parts).sum()
    return loss if reduction == "sum" else loss / (labels != IGNORED).sum()


def mlm_rows(
    hidden: torch.Tensor,
    head: Callable[[torch.Tensor], torch.Tensor],
    labels: torch.Tensor,
    *,
    chunk: int | None = None,
) -> Tensors:
    """A part of a batch for ``mlm_loss``: ``mlm``, the summed loss of its labelled tokens, and ``masked``,
    their number; (1,) each. The head sees the labelled positions of (N, L, H) only."""
    masked = labels != IGNORED
    total = chunked_token_cross_entropy(hidden[masked], head, labels[masked], reduction="sum", chunk=chunk)
    return {"mlm": total.view(1), "masked": masked.sum().view(1)}
