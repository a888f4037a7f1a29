"""Eq. 4 of a batch in one call, as the objective makes it of its parts."""

from __future__ import annotations

import torch

from papers.cpdae.reconstruction import text_losses, text_mean


def reconstruction(z: torch.Tensor, y: torch.Tensor, *, reduction: str, **how) -> torch.Tensor:
    """The mean over the texts; ``how`` is as of ``text_losses``."""
    return text_mean(text_losses(z, y, **how), reduction=reduction, vocabulary_size=z.shape[1])
