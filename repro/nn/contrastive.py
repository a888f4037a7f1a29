"""Softmax contrastive loss with in-batch negatives."""

from __future__ import annotations

import torch
from torch.nn import functional

from repro.errors import check_known
from repro.nn.similarity import similarities

NEGATIVES = ("in-batch", "own", "pairwise")


def check_negatives(negatives: str) -> str:
    """Return ``negatives`` unchanged. Raises UsageError unless it is one of NEGATIVES."""
    check_known("treatment of negatives", negatives, valid=NEGATIVES)
    return negatives


def contrastive(
    queries: torch.Tensor, passages: torch.Tensor, *, negatives: str, temperature: float, similarity: str
) -> torch.Tensor:
    """A positive against ``in-batch``: every passage of the batch, ``own``: the query's own negatives, or
    ``pairwise``: one own negative at a time. Arguments as for ``in_batch_contrastive``."""
    if negatives == "in-batch":
        return in_batch_contrastive(queries, passages, temperature=temperature, similarity=similarity)
    scores = own_scores(queries, passages, similarity=similarity) / temperature  # (Q, P)
    if negatives == "own":
        return functional.cross_entropy(
            scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device)
        )
    return functional.softplus(scores[:, 1:] - scores[:, :1]).mean()


def own_scores(queries: torch.Tensor, passages: torch.Tensor, *, similarity: str) -> torch.Tensor:
    """Similarities of each query to its own passages: (Q, H), (Q*P, H) to (Q, P)."""
    return own_columns(similarities(queries, passages, similarity=similarity))


def own_columns(scores: torch.Tensor) -> torch.Tensor:
    """The scores of each query with its own passages: (Q, Q*P) to (Q, P)."""
    count = len(scores)
    return scores.view(count, count, -1).diagonal(dim1=0, dim2=1).T


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
