"""BERT's own objective on title and text as a pair of segments (§5.1, Table 7 and Figure 3)."""

import numpy as np
import torch

from papers.baselines.segments import pair_segments, segments_for
from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import check_known
from repro.retrieval.nn.masked_tokens import IGNORED, Masking
from repro.retrieval.nn.objectives import MaskedLanguageModel
from repro.retrieval.nn.text import frame_texts, side_by_side


class PairMaskedLanguageModel(MaskedLanguageModel):
    """``MaskedLanguageModel`` on title and text as two segments, like all other variants (reading:
    pretraining-input).

    Args, in addition to those of ``MaskedLanguageModel``:
        unit: reading ``mlm-unit``: ``bernoulli`` masks single tokens, each independently unless ``masking``
            has a ``draw`` (reading ``mlm-draw``), ``whole-word`` masks whole words up to a fixed quota of
            each text (``WholeWords.chosen``).
    """

    name = "pair-mlm"
    version = 1

    def __init__(
        self,
        model,
        tokenizer,
        *,
        masking: Masking,
        unit: str,
        reduction: str,
        length: int,
        seed: int,
    ):
        super().__init__(model, tokenizer, masking=masking, reduction=reduction, length=length, seed=seed)
        check_known("masking unit", unit, valid=UNITS)
        self.words = WholeWords.of(tokenizer) if unit == "whole-word" else None

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels``, ``attention_mask`` and ``segments`` of N token
        rows, (N, L) int64."""
        batch, texts = super().collate(examples), self.texts(examples)
        clean, lengths = frame_texts(texts, self.tokenizer)
        columns = {"segments": (pair_segments(clean, lengths, separator=self.tokenizer.sep_token_id), 0)}
        if self.words:
            columns |= self._whole_words(self.words, clean, lengths, self.generators(examples))
        batch |= side_by_side(columns, lengths)
        return batch | {"segments": segments_for(self.encoder, batch["segments"])}

    def _whole_words(
        self, words: WholeWords, ids: np.ndarray, lengths: np.ndarray, generators: list[np.random.Generator]
    ) -> dict[str, tuple[np.ndarray, int]]:
        """Return ``masked_ids`` and ``labels``, (T,), of framed texts end to end, with padding values."""
        chosen = words.chosen(ids, lengths, rate=self.masking["rate"], generators=generators)
        masked = covered(
            ids,
            lengths,
            chosen,
            tokenizer=self.tokenizer,
            mask=self.masking["mask"],
            random=self.masking["random"],
            generators=generators,
        )
        pad = self.tokenizer.pad_token_id
        return {"masked_ids": (masked, pad), "labels": (np.where(chosen, ids, IGNORED), IGNORED)}
