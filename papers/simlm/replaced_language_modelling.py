"""Pre-training by replaced language modelling through a bottleneck (§3.1)."""

from pathlib import Path

import torch
from torch import nn

from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.generator import Generator, starting_generator
from papers.simlm.masks import Masks, TwiceMasked
from papers.simlm.token_losses import check_per, denominator, predicted, reconstruction
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer


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
    # every word is predicted from encoder and decoder; what replaces words is filled in for either

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
        """Return the losses ``encoder`` (Eq. 2), ``decoder`` and, if the generator learns, the weighted
        ``generator``. A loss without a token to predict is absent."""
        losses, tokens = {}, batch["clean_ids"]
        encoder_ids, decoder_ids, filling = self.generator(batch)
        counted = predicted(batch, specials=self.specials)  # (N, L)
        if counted.any():
            hidden = self.network.encode(encoder_ids, batch)  # (N, L, H)
            decoded = self.network.decode(hidden[:, 0], decoder_ids, batch)  # (N, L, H)
            heads = self.network.encoder_head, self.network.decoder_head
            losses["encoder"] = reconstruction(hidden, heads[0], tokens, counted, per=self.per)
            losses["decoder"] = reconstruction(decoded, heads[1], tokens, counted, per=self.per)
        if filling is not None and len(filling):
            losses["generator"] = self.generator_weight * self.generator.loss(filling, batch)
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int]:
        """Return loss name -> the number of tokens, texts or parts that it averages over."""
        number = denominator(predicted(batch, specials=self.specials), per=self.per)
        per = self.per if isinstance(self.per, int) else "batch"
        own = {"generator": denominator(batch["encoder_chosen"], per=per)} if self.generator.learns else {}
        return {"encoder": number, "decoder": number} | own
