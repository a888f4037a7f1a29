"""Scores and what breaks their ties in one whole number, so that a ranking has no ties."""

import numpy as np
import torch


def ranking_keys(scores: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Numbers in the order of the scores and, among equal scores, of the places.

    The upper 32 bits are those of the float32, which are in its order as a signed integer once the negative
    ones are turned round; the lower 32 are the place.

    Args:
        scores: (Q, N) float32, not nan.
        places: (N,) int64, from 0, below 2^32.

    Returns:
        (Q, N) int64.
    """
    bits = (scores + 0.0).contiguous().view(torch.int32)  # + 0.0 makes -0.0 equal to 0.0
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(torch.int64) << 32) + places


def scores_and_places(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take ``ranking_keys`` apart again: (K,) int64 to float32 and int64."""
    bits = (keys >> 32).astype(np.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32), keys & 0xFFFFFFFF
