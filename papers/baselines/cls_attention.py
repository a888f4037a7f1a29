"""Attention weights of [CLS] in the last layer of a frozen BERT."""

import copy

import torch

from repro.retrieval.nn.checkpoint import MaskedModel


class ClsAttention:
    """The attention weights of [CLS] in the last layer of a copy of a BERT, without training.

    Of the last layer, only the query of [CLS] and the keys are computed. This is not an nn.Module, so an
    objective's checkpoints and optimizer ignore it. It moves to the device of its inputs.
    """

    def __init__(self, model: MaskedModel):
        self.below = copy.deepcopy(model.base_model)
        self.below.eval().requires_grad_(False)
        self.last = self.below.encoder.layer[-1].attention.self
        self.below.encoder.layer = self.below.encoder.layer[:-1]
        self.below.pooler = None

    @torch.no_grad()
    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the attention weight that [CLS] gives to each token, averaged over the heads.

        Args:
            input_ids: (N, L), [CLS] first.
            attention_mask: (N, L), 1 at tokens.

        Returns:
            (N, L), float32 at least. Rows sum to 1, padding has 0.
        """
        if self.below.device != input_ids.device:
            self.below, self.last = self.below.to(input_ids.device), self.last.to(input_ids.device)
        hidden = self.below(input_ids, attention_mask=attention_mask).last_hidden_state  # (N, L, H)
        heads, size = self.last.num_attention_heads, self.last.attention_head_size
        query = self.last.query(hidden[:, 0]).unflatten(-1, (heads, size))  # (N, heads, size)
        keys = self.last.key(hidden).unflatten(-1, (heads, size))  # (N, L, heads, size)
        products = torch.einsum("nhd,nlhd->nhl", query, keys) / size**0.5  # (N, heads, L)
        products = products.to(torch.promote_types(products.dtype, torch.float32))
        products = products.masked_fill(attention_mask[:, None] == 0, -torch.inf)
        return products.softmax(dim=-1).mean(dim=1)  # (N, L)
