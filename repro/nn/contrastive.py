"""Softmax contrastive loss with in-batch negatives."""

from __future__ import annotations

import torch
from torch.nn import functional

from repro.nn.similarity import similarities


def in_batch_contrastive(
    queries: torch.Tensor, passages: torch.Tensor, *, temperature: float, similarity: str
) -> torch.Tensor:
    """Cross-entropy of each query's positive against every passage of the batch, mean over the queries.

        L = 1/Q sum_i -log( exp(s(q_i, p_iP) / tau) / sum_j exp(s(q_i, p_j) / tau) )

    with j over all Q*P passages: a query's own P-1 negatives and all passages of the other queries
    (Karpukhin et al. 2020, Eq. 2; the training step of Tevatron).

    Args:
        queries: (Q, H).
        passages: (Q*P, H), P of each query in turn, its positive first.
        temperature: tau.
        similarity: ``dot`` or ``cosine``.
    """
    count, total = len(queries), len(passages)
    assert total % count == 0, f"{total} passages are not P for each of {count} queries"
    scores = similarities(queries, passages, similarity=similarity) / temperature  # (Q, Q*P)
    targets = torch.arange(count, device=scores.device) * (total // count)
    return functional.cross_entropy(scores, targets)
