"""Figure 1 without its losses: a deep encoder, a shallow decoder, and one vector between them."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from papers.baselines.segments import segments_for
from papers.simlm.token_losses import denominator, group_counts
from repro.errors import check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer, save_model
from repro.retrieval.nn.precision import Tensors

SEGMENTS = ("zeros", "pair")
SLOTS = ("replace", "prepend")


class EncoderDecoder(nn.Module):
    """The encoder reads one version of a text, the decoder another version and the encoder's last [CLS]
    vector. The decoder's self-attention is bidirectional. Its layers start as copies of the encoder's last
    ones.

    Args:
        model: BertForMaskedLM, or one with ``base_model`` and ``cls`` like it.
        layers: the number of layers of the decoder, 2 in the paper.
        segments: the segments in the decoder's embeddings: ``zeros``, all 0, or ``pair``, those of the
            encoder (reading ``decoder-segments``).
        slot: reading ``bottleneck-slot``: the vector, without position or LayerNorm, comes instead of the
            embedding of [CLS] (``replace``) or before it (``prepend``).
        shared_head: reading ``shared-head``: whether the decoder shares the encoder's embeddings and language
            head. Otherwise it has its own, which start as copies.

    Raises UsageError for unknown values, or for more ``layers`` than the encoder has.
    """

    def __init__(self, model: MaskedModel, *, layers: int, segments: str, slot: str, shared_head: bool):
        super().__init__()
        check_known("segments of the decoder", segments, valid=SEGMENTS)
        check_known("slot of the bottleneck", slot, valid=SLOTS)
        self.encoder = model
        self.decoder = BottleneckDecoder.from_last_layers(model, layers=layers)
        self.paired, self.prepends, self.shared = segments == "pair", slot == "prepend", shared_head
        if not shared_head:  # copied at once: the head's matrix is the embeddings'
            own = (model.base_model.embeddings, model.cls)
            self.decoder_embeddings, self.decoder_cls = copy.deepcopy(own)

    def encode(self, input_ids: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the encoder's last hidden states of ``input_ids``, with mask and segments of ``batch``: (N,
        L) to (N, L, H)."""
        encoded = self.encoder.base_model(
            input_ids,
            attention_mask=batch["attention_mask"],
            token_type_ids=segments_for(self.encoder, batch["segments"]),
        )
        return encoded.last_hidden_state

    def decode(
        self, h_cls: torch.Tensor, input_ids: torch.Tensor, batch: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """Return the decoder's last hidden states of ``input_ids``, given the vectors ``h_cls``: (N, H) and
        (N, L) to (N, L, H)."""
        embeddings = self.encoder.base_model.embeddings if self.shared else self.decoder_embeddings
        segments = segments_for(self.encoder, batch["segments"])
        embedded = embeddings(
            input_ids=input_ids, token_type_ids=segments if self.paired else torch.zeros_like(segments)
        )  # (N, L, H)
        attention_mask = batch["attention_mask"]
        if self.prepends:
            attention_mask = torch.cat((attention_mask[:, :1], attention_mask), dim=1)  # (N, L + 1)
        tokens = embedded if self.prepends else embedded[:, 1:]
        hidden = self.decoder(torch.cat((h_cls.unsqueeze(1), tokens), dim=1), attention_mask)
        return hidden[:, 1:] if self.prepends else hidden

    @property
    def encoder_head(self) -> nn.Module:
        """The encoder's head, which maps states to logits over the vocabulary: (..., H) to (..., V)."""
        return self.encoder.cls

    @property
    def decoder_head(self) -> nn.Module:
        """The decoder's head, which maps states to logits over the vocabulary: (..., H) to (..., V)."""
        return self.encoder.cls if self.shared else self.decoder_cls


class ThroughBottleneck:
    """Base class of objectives with an ``EncoderDecoder`` as ``network``, and ``masked`` for collation.

    ``per`` is the unit that the losses average (see ``token_losses.reconstruction``).
    """

    per: str | int
    network: EncoderDecoder
    tokenizer: Tokenizer
    masked: Callable[[list[dict]], Tensors]

    def counted(self, batch: Tensors) -> Tensors:
        """Return loss name -> a mask of the tokens that it averages over, (N, L) bool."""
        raise NotImplementedError

    def collate(self, examples: list[dict]) -> Tensors:
        """Return the arrays of ``masked()``. If ``per`` is a number of texts, add ``group_counts`` of each
        loss as ``<loss>_groups``, (N,)."""
        batch = self.masked(examples)
        if not isinstance(self.per, int):
            return batch
        masks = self.counted(batch).items()
        return batch | {f"{name}_groups": group_counts(mask, size=self.per) for name, mask in masks}

    def cut(self, batch: Tensors, size: int) -> list[Tensors]:
        """Return a collated batch in parts of ``size`` texts, each as wide as its longest text."""
        parts = []
        for rows in zip(*(values.split(size) for values in batch.values()), strict=True):
            part = dict(zip(batch, rows, strict=True))
            longest = int(part["attention_mask"].sum(dim=1).max())
            parts.append({k: v[:, :longest] if v.dim() == 2 else v for k, v in part.items()})
        return parts

    def denominators(self, batch: Tensors) -> dict[str, float]:
        """Return loss name -> the number of tokens, texts or groups that it averages over."""
        return {
            name: denominator(mask, **self.mean(name, batch)) for name, mask in self.counted(batch).items()
        }

    def mean(self, name: str, batch: Tensors) -> dict[str, Any]:
        """Return the keyword arguments ``per`` and ``groups`` of ``reconstruction`` for the loss ``name``."""
        return {"per": self.per, "groups": batch.get(f"{name}_groups")}

    def save(self, folder: Path) -> None:
        """Save the encoder with its masked-language head, without the rest (§3.1)."""
        save_model(self.network.encoder, self.tokenizer, folder)
