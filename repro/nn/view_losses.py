"""Contrastive losses on similarities that are sums over views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional

from repro.errors import check_known
from repro.nn.similarity import similarities

OBJECTIVES = ("sum", "separate", "both")
DENOMINATORS = ("softmax", "printed")
Views = Mapping[str, torch.Tensor]


def view_similarities(
    queries: Views, passages: Views, *, terms: Sequence[str], objective: str, similarity: str
) -> dict[str, torch.Tensor]:
    """The similarities to be trained, by the suffix of their losses' names (Wu et al. 2023, Eq. 7).

        d(q, p) = sum over the terms v of s(q_v, p_v)

    Args:
        queries: by view, (Q, H_v).
        passages: by view, (M, H_v).
        terms: views; one named twice counts twice (as Eq. 7 is printed; reading ``hybrid-similarity``).
        objective: ``sum``: d, under the suffix ""; ``separate``: s of every view, under ".<view>"; ``both``
            (reading ``view-objective``).
        similarity: ``dot`` or ``cosine``, of each view by itself.

    Returns:
        (Q, M) each.
    """
    check_known("objective of the views", objective, valid=OBJECTIVES)
    by_view = {
        view: similarities(queries[view], passages[view], similarity=similarity)
        for view in queries
        if objective != "sum" or view in terms
    }
    scores = {} if objective == "separate" else {"": sum(by_view[term] for term in terms)}
    if objective != "sum":
        scores |= {f".{view}": score for view, score in by_view.items()}
    return scores


def own_columns(scores: torch.Tensor) -> torch.Tensor:
    """Each query's own passages: (Q, Q*P) to (Q, P)."""
    count = len(scores)
    return scores.view(count, count, -1).diagonal(dim1=0, dim2=1).T


def positive_loss(scores: torch.Tensor, positives: torch.Tensor, *, denominator: str) -> torch.Tensor:
    """How far each query's positive is from the highest place among C passages, mean over the queries.

    ``softmax`` is cross-entropy, -log( exp(d+) / (exp(d+) + sum_- exp(d-)) ). ``printed`` is Eq. 15 of Wu et
    al. 2023 as it stands (reading ``contrastive-denominator``),

        -log( exp(d+) / sum_- exp(d+ + d-) )  =  log sum_- exp(d-),

    in which the positive has no part.

    Args:
        scores: (Q, C), already over the temperature.
        positives: (Q,), columns.
        denominator: as above.
    """
    check_known("denominator", denominator, valid=DENOMINATORS)
    if denominator == "softmax":
        return functional.cross_entropy(scores, positives)
    own = functional.one_hot(positives, scores.shape[1]).bool()
    return scores.masked_fill(own, -torch.inf).logsumexp(dim=1).mean()
