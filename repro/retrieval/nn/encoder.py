"""A text encoder: transformer, pooling to one vector and, if the model was fine-tuned with one, projector."""

from pathlib import Path

import torch
from torch import nn

from repro.errors import check_known
from repro.retrieval.nn.checkpoint import load_encoder
from repro.retrieval.nn.projector import Projector, saved_projector
from repro.stage_table import POOLINGS


class Encoder(nn.Module):
    """Token ids to one vector a text.

    Args:
        model: a transformers model whose output has ``last_hidden_state``.
        pooling: ``cls`` or ``mean``.
        projector: applied to the pooled vector; None for none.
    """

    def __init__(self, model: nn.Module, *, pooling: str, projector: Projector | None):
        super().__init__()
        self.model = model
        self.pooling = check_pooling(pooling)
        self.projector = projector

    def forward(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Model inputs, (N, L) each, to (N, H); without segments every token is of the first."""
        hidden = self.model(**inputs).last_hidden_state  # (N, L, H)
        return self.finished(pooled(hidden, inputs["attention_mask"], pooling=self.pooling))

    def finished(self, vectors: torch.Tensor) -> torch.Tensor:
        """Pooled vectors, (N, H), as the encoder gives them: through the projector if there is one."""
        return vectors if self.projector is None else self.projector(vectors)


def load_text_encoder(folder: Path, *, pooling: str) -> Encoder:
    """The encoder in a model directory, with the projector beside it if texts are encoded with that.

    Raises:
        DataError: the directory is not a model.
    """
    projector, encodes = saved_projector(folder) or (None, False)
    return Encoder(load_encoder(folder), pooling=pooling, projector=projector if encodes else None)


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
