"""The decoder that SEED's authors released, with cross-attention to the text's vector in every layer.

After microsoft/SEED-Encoder@ececaa9, model/SEED_Encoder: ``TransformerDecoder`` and
``TransformerDecoderLayer`` with default configuration.
"""

import torch
from torch import nn

from papers.baselines.bottleneck_decoder import BottleneckDecoder

SPREAD = 0.02  # of every new matrix


class CrossAttentionDecoder(nn.Module):
    """Pre-norm layers of self-attention within a span, cross-attention to h, and a feed-forward part.

    It has its own positions, LayerNorms over the embeddings and after the last layer, and no output bias:
    the logits are products with the matrix of embeddings. The first position gets [CLS]. Cross-attention to
    the single vector h always has weight 1, so it adds a linear map of h, with attention dropout.

    Args:
        config: the encoder's configuration, for width, heads and dropout.
        layers: number of layers. COSTA §2.2 and the released configuration have 3.
        positions: number of tokens of the longest text.
        window, sees_first: arguments of ``BottleneckDecoder``.
    """

    def __init__(self, config, *, layers: int, positions: int, window: int, sees_first: bool):
        super().__init__()
        self.heads = config.num_attention_heads
        self.positions = nn.Embedding(positions, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.layers = nn.ModuleList(_layer(config) for _ in range(layers))
        self.last_norm = nn.LayerNorm(config.hidden_size)
        self.mask = BottleneckDecoder([], attention="causal", window=window, sees_first=sees_first)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=SPREAD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(
        self, embedded: torch.Tensor, h_cls: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Map token embeddings without positions, (N, L, H), vectors h, (N, H), and a mask, (N, L), to the
        states after the last layer, (N, L, H)."""
        places = torch.arange(embedded.shape[1], device=embedded.device)
        hidden = self.dropout(self.norm(embedded + self.positions(places)))  # (N, L, H)
        hidden_from = ~self.mask.visible(attention_mask).squeeze(1)  # (N, L, L)
        barred = hidden_from.repeat_interleave(self.heads, dim=0)  # (N * heads, L, L)
        read = h_cls.unsqueeze(1).to(hidden.dtype)  # (N, 1, H)
        for layer in self.layers:
            hidden = layer(hidden, read, tgt_mask=barred)
        return self.last_norm(hidden)


def _layer(config) -> nn.TransformerDecoderLayer:
    layer = nn.TransformerDecoderLayer(
        config.hidden_size,
        config.num_attention_heads,
        config.intermediate_size,
        dropout=config.hidden_dropout_prob,
        activation="gelu",
        batch_first=True,
        norm_first=True,
    )
    layer.dropout.p = 0.0  # within the feed-forward part: the released configuration has none
    return layer
