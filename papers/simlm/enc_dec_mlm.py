"""Table 7's Enc-Dec MLM: masked tokens are predicted, and no generator replaces tokens (§5.1)."""

import torch
from torch import nn

from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.masks import Masks, TwiceMasked
from papers.simlm.token_losses import check_per, reconstruction
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.precision import on_host


class EncoderDecoderMaskedLanguageModel(ThroughBottleneck, nn.Module):
    """SimLM's architecture and mask rates without its generator: L_enc + L_dec, where each is the
    cross-entropy of the original tokens at the positions masked for its own side.

    Args:
        model, tokenizer, decoder, length, seed: as for SimLM.
        masks: as for SimLM. Reading ``enc-dec-mlm-masking`` gives the shares of replacements of masked
            tokens.
        per: ``batch``: the mean over all masked tokens of a batch. ``text``: the mean of the texts' means. A
            number: the mean over groups of this many texts, each with the mean over its masked tokens.
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
        hidden = states = network.encode(batch["encoder_ids"], batch)  # (N, L, H)
        for side, masked in self.counted(batch).items():
            if on_host(masked).any():
                if side == "decoder":
                    states = network.decode(hidden[:, 0], batch["decoder_ids"], batch)  # (N, L, H)
                head = getattr(network, f"{side}_head")
                losses[side] = reconstruction(states, head, tokens, masked, **self.mean(side, batch))
        return losses

    def counted(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {side: batch[f"{side}_chosen"] for side in ("encoder", "decoder")}
