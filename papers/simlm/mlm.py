"""BERT's own objective on title and text as a pair of segments (§5.1, Table 7 and Figure 3)."""

import numpy as np
import torch

from papers.baselines.segments import pair_segments, segments_for
from repro.nn.mlm import MaskedLanguageModel
from repro.nn.text import padded


class PairMaskedLanguageModel(MaskedLanguageModel):
    """``MaskedLanguageModel`` whose texts have a title's segment and a text's, as all other variants' have
    (reading: pretraining-input)."""

    name = "pair-mlm"
    version = 1

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """The arrays of ``MaskedLanguageModel``, and ``segments``, (N, L) int64."""
        batch, sep = super().collate(examples), self.tokenizer.sep_token_id
        lengths = batch["attention_mask"].sum(dim=1)
        rows = [np.asarray(ids[:n]) for ids, n in zip(batch["clean_ids"], lengths, strict=True)]
        segments = padded([pair_segments(ids, separator=sep) for ids in rows], value=0)
        return batch | {"segments": segments_for(self.encoder, segments)}
