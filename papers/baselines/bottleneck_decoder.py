"""A shallow transformer that reads one vector of an encoder before token embeddings."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import nn

from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel

ATTENTIONS = ("full", "causal")


class BottleneckDecoder(nn.Module):
    """Transformer layers of the encoder's shape, with an explicit attention mask (BertLayer is not causal
    without one).

    Args:
        layers: BertLayer or similar layers.
        attention: ``full`` (every position sees all) or ``causal`` (a position sees those up to itself).
        window: with ``causal``, the number of last positions that a position sees, including itself, e.g. 3.
            None means all.
        sees_first: with a window, whether every position also sees position 0, the bottleneck.
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        *,
        attention: str = "full",
        window: int | None = None,
        sees_first: bool = True,
    ):
        super().__init__()
        check_known("attention of a decoder", attention, valid=ATTENTIONS)
        if window is not None and window < 1:
            raise UsageError(f"a window of {window} positions contains no position. Give at least 1.")
        self.layers = nn.ModuleList(layers)
        self.causal, self.window, self.sees_first = attention == "causal", window, sees_first

    @classmethod
    def new(cls, config, *, layers: int, **options) -> BottleneckDecoder:
        """Return a decoder of new layers, drawn like BERT's, N(0, ``initializer_range``), from torch's
        generator."""
        from transformers.models.bert.modeling_bert import BertLayer

        config = copy.deepcopy(config)
        config._attn_implementation = "sdpa"  # supports the boolean mask made here
        decoder = cls([BertLayer(config) for _ in range(layers)], **options)
        for module in decoder.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=config.initializer_range)
                nn.init.zeros_(module.bias)
        return decoder

    @classmethod
    def from_last_layers(cls, model: MaskedModel, *, layers: int, **options) -> BottleneckDecoder:
        """Return a decoder with copies of a model's last layers, for boolean masks. Raises UsageError if the
        model has too few layers."""
        encoder = model.base_model.encoder.layer
        if layers > len(encoder):
            raise UsageError(f"a decoder of {layers} layers cannot be copied from a model of {len(encoder)}")
        copies = [copy.deepcopy(layer) for layer in encoder[len(encoder) - layers :]]
        for layer in copies:
            layer.attention.self.config._attn_implementation = "sdpa"  # its own copy of the config
        return cls(copies, **options)

    def forward(self, hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map (N, L, H), and (N, L) with 0 at padding, to (N, L, H)."""
        visible = self.visible(attention_mask)
        for layer in self.layers:
            hidden = layer(hidden, visible)
        return hidden

    def visible(self, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the attention mask, (N, 1, L, L) bool: [n, 0, i, j] if i sees j. Padding sees only
        itself."""
        length = attention_mask.shape[1]
        places = torch.arange(length, device=attention_mask.device)
        offsets = places[:, None] - places[None, :]  # (L, L): i - j
        mask = torch.ones_like(offsets, dtype=torch.bool)
        if self.causal:
            mask = offsets >= 0
            if self.window is not None:
                mask &= offsets < self.window
                if self.sees_first:
                    mask[:, 0] = True
        return ((mask & attention_mask[:, None, :].bool()) | (offsets == 0)).unsqueeze(1)
