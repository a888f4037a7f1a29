"""Title and text as a pair of segments, separated by [SEP]."""

import numpy as np
import torch

from repro.retrieval.nn.checkpoint import MaskedModel


def pair_segments(input_ids: np.ndarray, lengths: np.ndarray, *, separator: int) -> np.ndarray:
    """Return BERT's segment of each token of framed texts: 0 up to a text's first [SEP], then 1, (T,) to
    (T,). All tokens of a text without a title are in segment 0.

    Args:
        input_ids: (T,), N texts end to end.
        lengths: (N,), tokens of each, at least one.
        separator: the id of [SEP].
    """
    closes = input_ids == separator
    before = np.cumsum(closes) - closes  # in all texts up to there
    begins = np.cumsum(lengths) - lengths
    return np.minimum(before - np.repeat(before[begins], lengths), 1)


def segments_for(model: MaskedModel, segments: torch.Tensor) -> torch.Tensor:
    """Return ``segments``, or zeros of the same shape if the model has only one type of segment."""
    return segments if model.config.type_vocab_size > 1 else torch.zeros_like(segments)
