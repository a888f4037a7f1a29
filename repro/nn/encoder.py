"""A text encoder: transformer, pooling and, if the model was fine-tuned with one, projector."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from repro.nn.checkpoint import load_encoder
from repro.nn.pooling import check_pooling, pooled
from repro.nn.projector import Projector, saved_projector


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
        vectors = pooled(hidden, inputs["attention_mask"], pooling=self.pooling)  # (N, H)
        return vectors if self.projector is None else self.projector(vectors)


def load_text_encoder(folder: Path, *, pooling: str) -> Encoder:
    """The encoder in a model directory, with the projector beside it if texts are encoded with that.

    Raises:
        DataError: the directory is not a model.
    """
    projector, encodes = saved_projector(folder) or (None, False)
    return Encoder(load_encoder(folder), pooling=pooling, projector=projector if encodes else None)
