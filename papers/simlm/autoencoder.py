"""Table 7's AutoEncoder: a text is reconstructed from its vector alone (§5.1)."""

import numpy as np
import torch
from torch import nn

from papers.baselines.segments import pair_segments
from papers.simlm.bottleneck import EncoderDecoder, ThroughBottleneck
from papers.simlm.token_losses import check_per, predicted, reconstruction
from repro.retrieval.nn.checkpoint import MaskedModel
from repro.retrieval.nn.precision import on_host
from repro.retrieval.nn.text import frame_texts, side_by_side


class AutoEncoder(ThroughBottleneck, nn.Module):
    """SimLM's architecture, where the encoder sees all tokens and the decoder none. The only loss is L_dec,
    the cross-entropy of a text's tokens given its vector and one [MASK] per token.

    The encoder has no loss of its own (reading ``autoencoder-loss``), because it could copy its input.

    Args:
        model, tokenizer, decoder, token_loss, length: as for SimLM. No masks are drawn.
    """

    name = "autoencoder"
    version = 1

    def __init__(self, model: MaskedModel, tokenizer, *, decoder: dict, token_loss: dict, length: int):
        super().__init__()
        self.tokenizer, self.length = tokenizer, length
        self.per, self.specials = check_per(token_loss["per"]), token_loss["specials"]
        self.network = EncoderDecoder(model, **decoder)

    def masked(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``attention_mask``, ``segments`` and ``special`` of N token rows, (N, L).
        Nothing is masked."""
        texts = [np.asarray(example["input_ids"])[: self.length - 2] for example in examples]
        clean, lengths = frame_texts(texts, self.tokenizer)
        columns = {
            "clean_ids": (clean, self.tokenizer.pad_token_id),
            "segments": (pair_segments(clean, lengths, separator=self.tokenizer.sep_token_id), 0),
            "special": (np.isin(clean, self.tokenizer.all_special_ids), True),
        }
        return side_by_side(columns, lengths)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the only loss, ``decoder``. It is absent for a batch of special tokens only."""
        counted = self.counted(batch)["decoder"]  # (N, L)
        if not on_host(counted).any():
            return {}
        tokens, network = batch["clean_ids"], self.network
        h_cls = network.encode(tokens, batch)[:, 0]  # (N, H)
        nothing = torch.full_like(tokens, self.tokenizer.mask_token_id)
        decoded = network.decode(h_cls, nothing, batch)  # (N, L, H)
        average = self.mean("decoder", batch)
        return {"decoder": reconstruction(decoded, network.decoder_head, tokens, counted, **average)}

    def counted(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"decoder": predicted(batch, specials=self.specials)}
