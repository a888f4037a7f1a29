"""Similarity of vectors, and of texts with several, in full precision whatever that of the model."""

from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional

from repro.errors import check_known

SIMILARITIES = ("dot", "cosine")


def check_similarity(similarity: str) -> str:
    """Return ``similarity`` unchanged. Raises UsageError unless it is one of SIMILARITIES."""
    check_known("similarity", similarity, valid=SIMILARITIES)
    return similarity


def similarities(left: torch.Tensor, right: torch.Tensor, *, similarity: str) -> torch.Tensor:
    """Every row of one matrix against every row of another.

    A dot product over a small temperature is too coarse in half precision (a float16 near 2000 has a step of
    1 to 2), hence autocast is switched off here and the inputs are raised to float32 at least.

    Args:
        left: (N, H).
        right: (M, H).
        similarity: ``dot`` or ``cosine``.

    Returns:
        (N, M), float32, or float64 for float64 inputs.
    """
    dtype = torch.promote_types(left.dtype, torch.float32)
    with torch.autocast(left.device.type, enabled=False):
        left, right = left.to(dtype), right.to(dtype)
        if check_similarity(similarity) == "cosine":
            left, right = functional.normalize(left, dim=-1), functional.normalize(right, dim=-1)
        return left @ right.T  # (N, M)


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
