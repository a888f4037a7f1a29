"""Masked language modelling alone: BERT's objective without its next-sentence task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from repro.nn.checkpoint import save_model
from repro.nn.masking import masked_texts
from repro.nn.token_cross_entropy import IGNORED, divisor, token_cross_entropy


class MaskedLanguageModel(nn.Module):
    """L = -1/M sum over the M masked tokens of a batch of log p(token | masked text) (Devlin et al. 2019).

    A text's mask depends on (seed, epoch, index) only: another one every epoch.

    Args:
        model: BertForMaskedLM, or one with ``base_model`` and ``cls`` like it.
        tokenizer: its tokenizer.
        masking: {rate, mask, random}; BERT has 0.15, 0.8, 0.1.
        reduction: ``mean``, as above, or ``sum``, without 1/M.
        length: tokens of a text, with [CLS] and [SEP].
        seed: of the masks.
    """

    name = "mlm"
    version = 1

    def __init__(
        self,
        model: nn.Module,
        tokenizer,
        *,
        masking: dict[str, float],
        reduction: str,
        length: int,
        seed: int,
    ):
        super().__init__()
        self.encoder, self.tokenizer = model, tokenizer
        self.masking, self.reduction, self.length, self.seed = masking, reduction, length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Token rows to the four arrays of ``masked_texts``."""
        texts = [np.asarray(example["input_ids"])[: self.length - 2] for example in examples]
        generators = [np.random.default_rng((self.seed, row["epoch"], row["index"])) for row in examples]
        return masked_texts(texts, tokenizer=self.tokenizer, generators=generators, **self.masking)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The one loss, ``mlm``; absent where the batch has no masked token."""
        masked = batch["labels"] != IGNORED
        if not masked.any():
            return {}
        encoded = self.encoder.base_model(
            batch["masked_ids"], attention_mask=batch["attention_mask"], token_type_ids=batch.get("segments")
        )  # without segments every token is of the first
        logits = self.encoder.cls(encoded.last_hidden_state[masked])  # (M, V): only the masked positions
        return {"mlm": token_cross_entropy(logits, batch["labels"][masked], reduction=self.reduction)}

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """The masked tokens that ``mlm`` is a mean over; None where it is their sum."""
        return {"mlm": divisor(batch["labels"], reduction=self.reduction)}

    def save(self, folder: Path) -> None:
        """The encoder with its masked-language head."""
        save_model(self.encoder, self.tokenizer, folder)
