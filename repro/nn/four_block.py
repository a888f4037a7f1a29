"""The softmax contrastive loss in which positives and other queries stand beside the passages."""

from __future__ import annotations

import torch
from torch.nn import functional

from repro.errors import unknown
from repro.nn.similarity import similarities

TERMS = ("four-blocks", "printed", "query")


def check_terms(terms: str) -> str:
    """The same name, once it is known to be valid; raises UsageError."""
    if terms not in TERMS:
        raise unknown("terms of the contrastive loss", terms, TERMS)
    return terms


def four_block_contrastive(
    queries: torch.Tensor, passages: torch.Tensor, *, terms: str, temperature: float | torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of each query's positive among up to four blocks of cosines, mean over the queries.

        L = 1/Q sum_i -log( phi(q_i, d_i+) / Z_i ),   phi(a, b) = exp( cos(a, b) / tau )

    ``four-blocks`` (the code released with Wang et al. 2023; reading ``contrastive-terms``):

        Z_i = sum over all passages d of phi(q_i, d)
            + sum_{j != i} phi(d_i+, q_j) + sum_{j != i} phi(q_i, q_j) + sum_{j != i} phi(d_i+, d_j+)

    A positive thus meets other queries and other positives, never a hard negative. ``printed`` (their Eq. 3,
    with every other passage of the batch in its set of negatives N):

        Z_i = phi(q_i, d_i+) + sum_{n != d_i+} ( phi(q_i, n) + phi(d_i+, n) )

    ``query``: the first block alone, which is ``in_batch_contrastive`` with cosines.

    Args:
        queries: (Q, H).
        passages: (Q*P, H), P of each query in turn, its positive first.
        terms: as above.
        temperature: tau, a number or a tensor of one.
    """
    count, each = len(queries), len(passages) // len(queries)
    positives, targets = passages[::each], torch.arange(count, device=queries.device) * each

    def block(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return similarities(left, right, similarity="cosine") / temperature

    blocks = [block(queries, passages)]  # (Q, Q*P)
    if check_terms(terms) == "four-blocks":
        same = torch.eye(count, dtype=torch.bool, device=queries.device)
        pairs = ((positives, queries), (queries, queries), (positives, positives))
        blocks += [block(*pair).masked_fill(same, -torch.inf) for pair in pairs]  # 3 of (Q, Q)
    elif terms == "printed":
        own = functional.one_hot(targets, len(passages)).bool()
        blocks.append(block(positives, passages).masked_fill(own, -torch.inf))  # (Q, Q*P)
    return functional.cross_entropy(torch.cat(blocks, dim=1), targets)
