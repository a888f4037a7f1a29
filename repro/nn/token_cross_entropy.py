"""Cross-entropy of predicted tokens, over the positions that carry a label."""

from __future__ import annotations

import torch
from torch.nn import functional

Tensors = dict[str, torch.Tensor]

IGNORED = -100  # torch's own mark for "no label here"


def token_cross_entropy(logits: torch.Tensor, labels: torch.Tensor, *, reduction: str) -> torch.Tensor:
    """Negative log-likelihood of the labels, over all labelled positions of a batch at once.

    ``mean`` divides by the number of labelled positions of the batch (not per text first), as BERT and
    transformers do; ``sum`` divides by nothing. At least one position must carry a label.

    Args:
        logits: (..., V), any float type; the logarithm is taken in float32 at least.
        labels: (...), token ids, IGNORED where there is nothing to predict.
        reduction: ``mean`` or ``sum``.
    """
    assert reduction in ("mean", "sum"), reduction
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return functional.cross_entropy(
        logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORED, reduction=reduction
    )


def divisor(labels: torch.Tensor, *, reduction: str) -> int | None:
    """The labelled positions, which ``mean`` divides by; None for ``sum``."""
    return int((labels != IGNORED).sum()) if reduction == "mean" else None


def mlm_loss(rows: Tensors, *, reduction: str) -> Tensors:
    """``mlm`` over all parts whose ``mlm_rows`` there are; nothing where no token is labelled."""
    masked = rows["masked"].sum() if "masked" in rows else 0
    if not masked:
        return {}
    total = rows["mlm"].sum()
    return {"mlm": total / masked if reduction == "mean" else total}
