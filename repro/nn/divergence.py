"""Kullback-Leibler divergence between softmax distributions."""

from __future__ import annotations

import torch
from torch.nn import functional


def divergence(target: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """KL(softmax(target) || softmax(scores)), the sum over a row's K entries, the mean over the rows.

        1/N sum_i sum_k p_ik (log p_ik - log q_ik),   p = softmax(target), q = softmax(scores)

    In float32 at least. A target that is not to learn has to be detached by the caller.

    Args:
        target: (N, K).
        scores: (N, K).
    """
    log_p, log_q = (
        functional.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), dim=-1)
        for logits in (target, scores)
    )
    return (log_p.exp() * (log_p - log_q)).sum(dim=-1).mean()
