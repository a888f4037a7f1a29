"""Cross-entropy of predicted tokens, over the positions that carry a label."""

from collections.abc import Callable

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

Tensors = dict[str, torch.Tensor]

IGNORED = -100  # torch's own mark for "no label here"
CHUNK = 2048  # logits of 2,048 positions x 30,522 tokens x 4 bytes = 250 MB at once


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
    count = rows["masked"].sum() if "masked" in rows else 0
    if not count:
        return {}
    total = rows["mlm"].sum()
    return {"mlm": total / count if reduction == "mean" else total}


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

    def total(states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return token_cross_entropy(head(states), targets, reduction="sum")

    if chunk is None or len(hidden) <= chunk:
        return token_cross_entropy(head(hidden), labels, reduction=reduction)
    parts = [
        checkpoint(total, states, targets, use_reentrant=False, preserve_rng_state=False)
        for states, targets in zip(hidden.split(chunk), labels.split(chunk), strict=True)
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
    mask = labels != IGNORED
    total = chunked_token_cross_entropy(hidden[mask], head, labels[mask], reduction="sum", chunk=chunk)
    return {"mlm": total.view(1), "masked": mask.sum().view(1)}
