"""The softmax contrastive loss in which positives and other queries stand beside the passages."""

from __future__ import annotations

import torch
from torch.nn import functional

from repro.nn.similarity import similarities


def four_block_contrastive(
    queries: torch.Tensor, passages: torch.Tensor, *, temperature: float | torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of each query's positive among four blocks of cosines, mean over the queries.

        L = 1/Q sum_i -log( phi(q_i, d_i+) / Z_i ),   phi(a, b) = exp( cos(a, b) / tau )
        Z_i = sum over all passages d of phi(q_i, d)
            + sum_{j != i} phi(d_i+, q_j) + sum_{j != i} phi(q_i, q_j) + sum_{j != i} phi(d_i+, d_j+)

    A positive thus meets other queries and other positives, never a hard negative (the code released with
    Wang et al. 2023).

    Args:
        queries: (Q, H).
        passages: (Q*P, H), P of each query in turn, its positive first.
        temperature: tau, a number or a tensor of one.
    """
    count, each = len(queries), len(passages) // len(queries)
    positives, targets = passages[::each], torch.arange(count, device=queries.device) * each

    def block(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return similarities(left, right, similarity="cosine") / temperature

    same = torch.eye(count, dtype=torch.bool, device=queries.device)
    pairs = ((positives, queries), (queries, queries), (positives, positives))
    others = [block(*pair).masked_fill(same, -torch.inf) for pair in pairs]  # 3 of (Q, Q)
    return functional.cross_entropy(torch.cat([block(queries, passages), *others], dim=1), targets)
