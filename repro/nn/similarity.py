"""Similarity of vectors, in full precision whatever the precision of the model."""

from __future__ import annotations

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
