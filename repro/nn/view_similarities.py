"""Similarities of texts that are sums over their views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from repro.errors import check_known
from repro.nn.similarity import similarities

OBJECTIVES = ("sum", "separate", "both")
Views = Mapping[str, torch.Tensor]


def view_similarities(
    queries: Views, passages: Views, *, terms: Sequence[str], objective: str, similarity: str
) -> dict[str, torch.Tensor]:
    """The similarities to be trained, by the suffix of their losses' names.

        d(q, p) = sum over the terms v of s(q_v, p_v)

    Args:
        queries: by view, (Q, H_v).
        passages: by view, (M, H_v).
        terms: views; one named twice counts twice (reading ``hybrid-similarity``).
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
