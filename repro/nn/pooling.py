"""From token vectors to one vector: of a text, or of spans of it."""

from __future__ import annotations

import torch

from repro.errors import check_known

POOLINGS = ("cls", "mean")


def check_pooling(pooling: str) -> str:
    """Return ``pooling`` unchanged. Raises UsageError unless it is one of POOLINGS."""
    check_known("pooling", pooling, valid=POOLINGS)
    return pooling


def pooled(hidden: torch.Tensor, attention_mask: torch.Tensor, *, pooling: str) -> torch.Tensor:
    """One vector a text: its first token's (``cls``), or the mean over its tokens (``mean``).

    The mean divides by the number of tokens that are not padding; [CLS] and [SEP] count, as in
    sentence-transformers.

    Args:
        hidden: (N, L, H).
        attention_mask: (N, L), 1 at tokens and 0 at padding; every text has at least one token.
        pooling: ``cls`` or ``mean``.

    Returns:
        (N, H).
    """
    if check_pooling(pooling) == "cls":
        return hidden[:, 0]  # (N, H)
    weights = attention_mask.to(hidden.dtype).unsqueeze(-1)  # (N, L, 1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)  # (N, H)


def span_means(hidden: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
    """The mean token vector of each span, as one matrix product (a running sum would lose digits).

    Args:
        hidden: (N, L, H).
        spans: (N, S, 2), positions in ``hidden``: first token, and one past the last. A span without a token
            gives zeros.

    Returns:
        (N, S, H), in float32 at least.
    """
    dtype = torch.promote_types(hidden.dtype, torch.float32)
    positions = torch.arange(hidden.shape[1], device=hidden.device)
    first, end = spans[..., :1], spans[..., 1:]  # (N, S, 1)
    inside = ((positions >= first) & (positions < end)).to(dtype)  # (N, S, L)
    with torch.autocast(hidden.device.type, enabled=False):
        sums = inside @ hidden.to(dtype)  # (N, S, H)
    return sums / (end - first).clamp(min=1)
