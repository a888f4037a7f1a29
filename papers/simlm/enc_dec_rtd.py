"""Table 7's Enc-Dec RTD: both sides classify every token as original or replaced (§5.1)."""

import copy
from pathlib import Path

import torch
from torch import nn

from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.generator import Generator, starting_generator
from papers.simlm.masks import Masks, TwiceMasked
from papers.simlm.token_losses import check_per, detection, predicted
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.precision import on_host


class EncoderDecoderReplacedTokenDetection(ThroughBottleneck, nn.Module):
    """SimLM's architecture and inputs with ELECTRA's task instead of its own (Clark et al. 2020).

        L_enc = -1/|x| sum_i [ r_i log s_i + (1 - r_i) log(1 - s_i) ],  r_i = 1 where x_enc[i] is not x[i]

    with s_i = sigmoid(w gelu(W h_i + b) + c), and likewise L_dec. A token that the generator drew again
    counts as original. Reading ``rtd-loss``: ``weight`` times L_enc + L_dec. The head is ELECTRA's, new,
    drawn from torch's generator. Both sides share it if they share the language head. The generator is
    frozen. A batch that is processed in parts has other replacements than a whole one.

    Args:
        model, tokenizer, masks, decoder, token_loss, length, seed, generator: as for SimLM.
        dropout, draws: arguments of ``Generator``.
        weight: 1, or ELECTRA's 50.
    """

    name = "enc-dec-rtd"
    version = 2

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masks: dict,
        dropout: bool,
        draws: str,
        decoder: dict,
        token_loss: dict,
        weight: float,
        length: int,
        seed: int,
        generator: Path | None = None,
    ):
        super().__init__()
        self.tokenizer, self.weight = tokenizer, weight
        self.per, self.specials = check_per(token_loss["per"]), token_loss["specials"]
        self.masked = TwiceMasked(tokenizer, Masks(**masks), length=length, seed=seed)
        replacing = starting_generator(generator, model, tokenizer, length=length)
        self.generator = Generator(replacing, training="frozen", dropout=dropout, draws=draws)
        self.network = EncoderDecoder(model, **decoder)
        self.encoder_head = _detector(model.config)
        self.decoder_head = self.encoder_head if decoder["shared_head"] else copy.deepcopy(self.encoder_head)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``encoder`` and ``decoder``, each times ``weight``. Both are absent for a batch
        of special tokens only."""
        counted = predicted(batch, specials=self.specials)  # (N, L)
        if not on_host(counted).any():
            return {}
        encoder_ids, decoder_ids, _ = self.generator(batch)
        hidden = self.network.encode(encoder_ids, batch)  # (N, L, H)
        decoded = self.network.decode(hidden[:, 0], decoder_ids, batch)  # (N, L, H)
        scores = {"encoder": self.encoder_head(hidden), "decoder": self.decoder_head(decoded)}  # (N, L, 1)
        losses, tokens = {}, {"encoder": encoder_ids, "decoder": decoder_ids}
        for side, ids in tokens.items():
            wanted = scores[side].squeeze(-1), ids != batch["clean_ids"], counted
            losses[side] = self.weight * detection(*wanted, **self.mean(side, batch))
        return losses

    def counted(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return dict.fromkeys(("encoder", "decoder"), predicted(batch, specials=self.specials))


def _detector(config) -> nn.Module:
    first, last = nn.Linear(config.hidden_size, config.hidden_size), nn.Linear(config.hidden_size, 1)
    for layer in (first, last):
        nn.init.normal_(layer.weight, std=config.initializer_range)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(first, nn.GELU(), last)
