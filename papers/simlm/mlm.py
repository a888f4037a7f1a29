"""BERT's own objective on title and text as a pair of segments (§5.1, Table 7 and Figure 3)."""

import numpy as np
import torch

from papers.baselines.segments import pair_segments, segments_for
from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import check_known
from repro.nn.mlm import MaskedLanguageModel
from repro.nn.text import padded
from repro.nn.token_cross_entropy import IGNORED


class PairMaskedLanguageModel(MaskedLanguageModel):
    """``MaskedLanguageModel`` whose texts have a title's segment and a text's, as all other variants' have
    (reading: pretraining-input).

    Args, beside those of ``MaskedLanguageModel``:
        unit: reading ``mlm-unit``: ``bernoulli``, every token by itself, or ``whole-word``, a fixed quota of
            each text in whole words (``WholeWords.chosen``).
    """

    name = "pair-mlm"
    version = 1

    def __init__(
        self,
        model,
        tokenizer,
        *,
        masking: dict[str, float],
        unit: str,
        reduction: str,
        length: int,
        seed: int,
    ):
        super().__init__(model, tokenizer, masking=masking, reduction=reduction, length=length, seed=seed)
        check_known("masking unit", unit, valid=UNITS)
        self.words = WholeWords.of(tokenizer) if unit == "whole-word" else None

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """The arrays of ``MaskedLanguageModel``, and ``segments``, (N, L) int64."""
        batch, sep = super().collate(examples), self.tokenizer.sep_token_id
        lengths = batch["attention_mask"].sum(dim=1)
        rows = [np.asarray(ids[:n]) for ids, n in zip(batch["clean_ids"], lengths, strict=True)]
        segments = padded([pair_segments(ids, separator=sep) for ids in rows], value=0)
        masked = self._whole_words(rows, self.generators(examples)) if self.words else {}
        return batch | masked | {"segments": segments_for(self.encoder, segments)}

    def _whole_words(self, rows: list[np.ndarray], generators: list[np.random.Generator]) -> dict:
        """``masked_ids`` and ``labels`` of framed texts, (N, L), where whole words are masked."""
        rate, hiding = self.masking["rate"], {name: self.masking[name] for name in ("mask", "random")}
        masked, labels = [], []
        for ids, generator in zip(rows, generators, strict=True):
            chosen = self.words.chosen(ids, rate=rate, generator=generator)
            masked.append(covered(ids, chosen, tokenizer=self.tokenizer, generator=generator, **hiding))
            labels.append(np.where(chosen, ids, IGNORED))
        pad = self.tokenizer.pad_token_id
        return {"masked_ids": padded(masked, value=pad), "labels": padded(labels, value=IGNORED)}
