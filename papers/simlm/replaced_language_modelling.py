"""Pre-training by replaced language modelling through a bottleneck (§3.1)."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.generator import Generator, starting_generator
from papers.simlm.masks import Masks, TwiceMasked
from papers.simlm.token_losses import check_per, predicted, reconstruction
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.precision import on_host


class ReplacedLanguageModelling(ThroughBottleneck, nn.Module):
    """SimLM: L_pt = L_enc + L_dec, each the cross-entropy of the original tokens at all positions (Eq. 2).

        x_enc = Sample(g, Mask(x, p_enc)),  x_dec = Sample(g, Mask(x, p_dec))
            (Eq. 1)

    The encoder predicts x from x_enc, a shallow decoder predicts x from x_dec and the encoder's [CLS] vector.
    Other choices are options named after their readings, e.g. ``generator-loss-weight``. A text's masks
    depend on (seed, epoch, index), the replacements on torch's generator: a batch that is processed in parts
    has other replacements than a whole one.

    Args:
        model: BertForMaskedLM, or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        masks: {encoder_rate, decoder_rate, unit, superset, mask, random}, see ``Masks``.
        replacement: {training, dropout, draws}, see ``Generator``.
        generator_weight: the weight of a learning generator's own loss, the cross-entropy at the encoder's
            masked positions, mean over the batch (reading ``generator-loss-weight``).
        decoder: {layers, segments, slot, shared_head}, see ``EncoderDecoder``.
        token_loss: {per, specials}, reading ``token-loss-reduction``: see ``reconstruction``,
            ``predicted``.
        length: tokens of a text, with [CLS] and [SEP].
        seed: the seed of the masks.
        generator: a folder with the generator's model, by default a copy of ``model``.
    """

    name = "simlm"
    version = 2
    # both sides predict every token, and the generator fills in replacements for both

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masks: dict,
        replacement: dict,
        generator_weight: float,
        decoder: dict,
        token_loss: dict,
        length: int,
        seed: int,
        generator: Path | None = None,
    ):
        super().__init__()
        self.tokenizer, self.generator_weight = tokenizer, generator_weight
        self.per, self.specials = check_per(token_loss["per"]), token_loss["specials"]
        self.masked = TwiceMasked(tokenizer, Masks(**masks), length=length, seed=seed)
        self.generator = Generator(
            starting_generator(generator, model, tokenizer, length=length), **replacement
        )
        self.network = EncoderDecoder(model, **decoder)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``encoder`` and ``decoder`` (Eq. 2) and, if the generator learns, its own
        weighted loss ``generator``. A loss without a token to predict is absent."""
        losses, tokens = {}, batch["clean_ids"]
        encoder_ids, decoder_ids, filling = self.generator(batch)
        counted = predicted(batch, specials=self.specials)  # (N, L)
        if on_host(counted).any():
            hidden = self.network.encode(encoder_ids, batch)  # (N, L, H)
            decoded = self.network.decode(hidden[:, 0], decoder_ids, batch)  # (N, L, H)
            for side, states in (("encoder", hidden), ("decoder", decoded)):
                wanted = states, getattr(self.network, f"{side}_head"), tokens, counted
                losses[side] = reconstruction(*wanted, **self.mean(side, batch))
        if filling is not None and len(filling):
            loss = self.generator.loss(filling, batch, **self.mean("generator", batch))
            losses["generator"] = self.generator_weight * loss
        return losses

    def counted(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        own = {"generator": batch["encoder_chosen"]} if self.generator.learns else {}
        return dict.fromkeys(("encoder", "decoder"), predicted(batch, specials=self.specials)) | own

    def mean(self, name: str, batch: dict[str, torch.Tensor]) -> dict[str, Any]:
        mean = super().mean(name, batch)
        return mean | {"per": "batch"} if name == "generator" and mean["per"] == "text" else mean
