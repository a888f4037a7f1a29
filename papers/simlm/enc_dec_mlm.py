"""Table 7's Enc-Dec MLM: masked tokens are predicted, and no generator replaces tokens (§5.1)."""

import torch
from torch import nn

from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.masks import Masks, TwiceMasked
from papers.simlm.token_losses import check_per, denominator, reconstruction
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer


class EncoderDecoderMaskedLanguageModel(ThroughBottleneck, nn.Module):
    """SimLM's architecture and mask rates without its generator: L_enc + L_dec, where each is the
    cross-entropy of the original tokens at the positions masked for its own side.

    Args:
        model, tokenizer, decoder, length, seed: as for SimLM.
        masks: as for SimLM. Reading ``enc-dec-mlm-masking`` gives the shares of replacements of masked
            tokens.
        per: ``batch``, the mean over its masked tokens, ``text``, the mean of the texts' means, or a
            number of texts, the mean of the means over the masked tokens of so many.
    """

    name = "enc-dec-mlm"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masks: dict,
        decoder: dict,
        per: str | int,
        length: int,
        seed: int,
    ):
        super().__init__()
        self.tokenizer, self.per = tokenizer, check_per(per)
        self.masked = TwiceMasked(tokenizer, Masks(**masks), length=length, seed=seed)
        self.network = EncoderDecoder(model, **decoder)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``encoder`` and ``decoder``. A loss is absent if no token is masked for its
        side."""
        losses, tokens, network = {}, batch["clean_ids"], self.network
        hidden = network.encode(batch["encoder_ids"], batch)  # (N, L, H)
        if (masked := batch["encoder_chosen"]).any():
            losses["encoder"] = reconstruction(hidden, network.encoder_head, tokens, masked, per=self.per)
        if (masked := batch["decoder_chosen"]).any():
            decoded = network.decode(hidden[:, 0], batch["decoder_ids"], batch)  # (N, L, H)
            losses["decoder"] = reconstruction(decoded, network.decoder_head, tokens, masked, per=self.per)
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int]:
        """Return loss name -> the number of masked tokens, or of texts with any, that it averages over."""
        return {side: denominator(batch[f"{side}_chosen"], per=self.per) for side in ("encoder", "decoder")}
