"""Token lists to rectangular arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


def padded(rows: Sequence[np.ndarray], *, value: int) -> torch.Tensor:
    """Rows of unequal length side by side, filled up at the right: N of (l,) to (N, max l), int64."""
    full = np.full((len(rows), max(len(row) for row in rows)), value, dtype=np.int64)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return torch.from_numpy(full)
