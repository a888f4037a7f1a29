"""Similarities of vectors, and losses over their softmax distributions, e.g. contrastive ones."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import torch
from torch import Tensor
from torch.nn import functional

from repro.errors import check_known

SIMILARITIES = ("dot", "cosine")


def check_similarity(similarity: str) -> str:
    check_known("similarity", similarity, valid=SIMILARITIES)
    return similarity


def similarities(left: Tensor, right: Tensor, *, similarity: str) -> Tensor:
    """Return the ``dot`` product or ``cosine`` of every pair of rows: (N, H), (M, H) to (N, M).

    The result is in float32 or above.
    """
    dtype = torch.promote_types(left.dtype, torch.float32)
    with torch.autocast(left.device.type, enabled=False):
        left, right = left.to(dtype), right.to(dtype)
        if check_similarity(similarity) == "cosine":
            left, right = functional.normalize(left, dim=-1), functional.normalize(right, dim=-1)
        return left @ right.T


OBJECTIVES = ("sum", "separate", "both")
Views = Mapping[str, Tensor]


def view_similarities(
    queries: Views, passages: Views, *, terms: Sequence[str], objective: str, similarity: str
) -> dict[str, Tensor]:
    """Return the similarities to train, (Q, M) each, by a suffix for the names of their losses.

        d(q, p) = sum over the terms v of s(q_v, p_v)

    ``queries`` and ``passages`` are (Q, H_v) and (M, H_v) by view. A repeated term counts twice (reading
    ``hybrid-similarity``). With the ``objective`` ``sum`` the key "" has d, with ``separate`` each key
    ".<view>" has its view's s, and ``both`` gives all of these (reading ``view-objective``).
    """
    check_known("objective of the views", objective, valid=OBJECTIVES)
    by_view = {
        view: similarities(queries[view], passages[view], similarity=similarity)
        for view in queries
        if objective != "sum" or view in terms
    }
    scores = {} if objective == "separate" else {"": reduce(add, [by_view[term] for term in terms])}
    if objective != "sum":
        scores |= {f".{view}": score for view, score in by_view.items()}
    return scores


NEGATIVES = ("in-batch", "own", "pairwise")


def contrastive(
    queries: Tensor, passages: Tensor, *, negatives: str, temperature: float, similarity: str
) -> Tensor:
    """Return the loss of each query's positive against ``negatives``, averaged over queries.

    ``in-batch`` is the cross-entropy among all passages, ``own`` among the query's own. ``pairwise`` is the
    mean -log sigmoid of the positive's lead over each own negative. Shapes are those of ``own_scores()``.
    """
    if negatives == "in-batch":
        return in_batch_contrastive(queries, passages, temperature=temperature, similarity=similarity)
    scores = own_scores(queries, passages, similarity=similarity) / temperature
    if negatives == "own":
        return listwise(scores)
    return functional.softplus(scores[:, 1:] - scores[:, :1]).mean()


def listwise(scores: Tensor) -> Tensor:
    """Return the cross-entropy of each row's first score, averaged over the rows of (N, K)."""
    return functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


def own_scores(queries: Tensor, passages: Tensor, *, similarity: str) -> Tensor:
    """Return similarities to each query's own passages: (Q, H), (Q*P, H) to (Q, P)."""
    return own_columns(similarities(queries, passages, similarity=similarity))


def own_columns(scores: Tensor) -> Tensor:
    """Return the scores of each query's own passages: (Q, Q*P) to (Q, P)."""
    count = len(scores)
    return scores.view(count, count, -1).diagonal(dim1=0, dim2=1).T


def in_batch_contrastive(queries: Tensor, passages: Tensor, *, temperature: float, similarity: str) -> Tensor:
    """Return the cross-entropy of each query's positive among all passages (Karpukhin et al. 2020, Eq. 2).

        L = 1/Q sum_i -log( exp(s(q_i, p_iP) / tau) / sum_j exp(s(q_i, p_j) / tau) )

    ``queries`` are (Q, H), ``passages`` (Q*P, H): P of each query in turn, its positive first.
    """
    count, total = len(queries), len(passages)
    assert total % count == 0, f"{total} passages are not P for each of {count} queries"
    scores = similarities(queries, passages, similarity=similarity) / temperature  # (Q, Q*P)
    targets = torch.arange(count, device=scores.device) * (total // count)
    return functional.cross_entropy(scores, targets)


def four_block_contrastive(queries: Tensor, passages: Tensor, *, temperature: float | Tensor) -> Tensor:
    """Return the cross-entropy of each query's positive among four blocks of cosines.

        L = 1/Q sum_i -log( phi(q_i, d_i+) / Z_i ),   phi(a, b) = exp( cos(a, b) / tau )
        Z_i = sum over all passages d of phi(q_i, d)
            + sum_{j != i} phi(d_i+, q_j) + sum_{j != i} phi(q_i, q_j) + sum_{j != i} phi(d_i+, d_j+)

    This is the code released with Wang et al. 2023. Arguments are those of ``in_batch_contrastive()``.
    """
    count, per_query = len(queries), len(passages) // len(queries)
    positives, targets = passages[::per_query], torch.arange(count, device=queries.device) * per_query

    def block(left: Tensor, right: Tensor) -> Tensor:
        return similarities(left, right, similarity="cosine") / temperature

    diagonal = torch.eye(count, dtype=torch.bool, device=queries.device)
    pairs = ((positives, queries), (queries, queries), (positives, positives))
    blocks = [block(*pair).masked_fill(diagonal, -torch.inf) for pair in pairs]
    return functional.cross_entropy(torch.cat([block(queries, passages), *blocks], dim=1), targets)


def divergence(target: Tensor, scores: Tensor) -> Tensor:
    """Return KL(softmax(target) || softmax(scores)) of (N, K) each, averaged over the rows.

    The caller has to detach a target that is not trained.
    """
    log_p, log_q = (
        functional.log_softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)), dim=-1)
        for logits in (target, scores)
    )
    return (log_p.exp() * (log_p - log_q)).sum(dim=-1).mean()
