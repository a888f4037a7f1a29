"""Vectors of all processes of a distributed training side by side."""

from __future__ import annotations

import torch
from torch import distributed


def processes() -> int:
    """How many processes train together; 1 where torch.distributed was not started."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def gathered(vectors: torch.Tensor) -> torch.Tensor:
    """The vectors of all processes in the order of their ranks: (N, H) of each to (R*N, H).

    Only a process's own rows carry a gradient. A loss over all rows, multiplied by R, then has the gradient
    of the whole batch once the processes' gradients are averaged. Every process needs as many rows.
    """
    if processes() == 1:
        return vectors
    everybody = [torch.empty_like(vectors) for _ in range(processes())]
    distributed.all_gather(everybody, vectors.detach().contiguous())
    everybody[distributed.get_rank()] = vectors
    return torch.cat(everybody)
