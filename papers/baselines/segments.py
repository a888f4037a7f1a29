"""Title and text as a pair of segments, told by the [SEP] between them."""

import numpy as np
import torch
from torch import nn


def pair_segments(input_ids: np.ndarray, *, separator: int) -> np.ndarray:
    """BERT's segment of each token of a framed text: 0 up to its first [SEP], then 1, (n,) to (n,).

    A text without a title has one [SEP], its last token, and is of the first segment altogether.
    """
    before = np.cumsum(input_ids == separator) - (input_ids == separator)
    return np.minimum(before, 1)


def segments_for(model: nn.Module, segments: torch.Tensor) -> torch.Tensor:
    """Segment ids as far as a model has them: all zeros for one with a single type of segment."""
    return segments if model.config.type_vocab_size > 1 else torch.zeros_like(segments)
