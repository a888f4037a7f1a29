"""Condenser: a head that can complete a text only through its late [CLS] (Gao and Callan 2021)."""

import numpy as np
import torch

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from papers.baselines.segments import pair_segments, segments_for
from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.masked_tokens import (
    IGNORED,
    Masking,
    divisor,
    labelled,
    values_at,
    vocabulary_loss,
)
from repro.retrieval.nn.objectives import MaskedPretraining
from repro.retrieval.nn.text import frame_texts, side_by_side

QUOTAS = ("text", "all")


class Condenser(MaskedPretraining):
    """L = L_head + L_late, cross-entropies of the masked tokens, means over the masked tokens of a batch.

    The head, transformer layers with new weights, reads the last layer's [CLS] and the other tokens of an
    early layer. L_head predicts from the head's output, L_late from the encoder's own last layer, by the same
    language head. A text's mask depends on (seed, epoch, index) only.

    Args, with those of ``MaskedPretraining``:
        unit: ``whole-word``, as in the original (see ``WholeWords.chosen``), or ``bernoulli``, every
            token independently.
        quota: the tokens that the share of masked tokens refers to: ``text``, without [CLS] and [SEP], as in
            the original, or ``all`` tokens (reading: condenser-quota).
        head_layers: 2 in the original.
        early_share: the share of layers before the layer that gives the head its tokens, rounded down, e.g. 6
            of 12 in the original.
        late: whether the loss includes L_late. The original adds it when starting from a trained BERT.
        seed: the seed of the masks. The head's weights come from torch's generator.
    """

    name = "condenser"
    version = 2

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: Masking,
        unit: str,
        quota: str,
        head_layers: int,
        early_share: float,
        late: bool,
        length: int,
        seed: int,
    ):
        super().__init__()
        check_known("masking unit", unit, valid=UNITS)
        check_known("quota of masked words", quota, valid=QUOTAS)
        if not 0 <= early_share < 1:
            raise UsageError(f"an early share of {early_share!r} leaves no late layer. Give e.g. 0.5.")
        self.encoder, self.tokenizer = model, tokenizer
        self.head = BottleneckDecoder.new(model.config, layers=head_layers)
        self.early = int(early_share * model.config.num_hidden_layers)
        self.words = WholeWords.of(tokenizer)
        self.masking, self.unit, self.quota = masking, unit, quota
        self.late, self.length, self.seed = late, length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``masked_ids``, ``labels``, ``attention_mask`` and ``segments`` of N token rows, (N, L)
        int64."""
        ids, lengths = frame_texts(self.texts(examples), self.tokenizer)
        generators = self.generators(examples)
        chosen = self.words.drawn(
            ids,
            lengths,
            unit=self.unit,
            quota=self.quota,
            rate=self.masking["rate"],
            generators=generators,
        )
        hidden = covered(
            ids,
            lengths,
            chosen,
            tokenizer=self.tokenizer,
            mask=self.masking["mask"],
            random=self.masking["random"],
            generators=generators,
        )
        columns = {
            "masked_ids": (hidden, self.tokenizer.pad_token_id),
            "labels": (np.where(chosen, ids, IGNORED), IGNORED),
            "segments": (pair_segments(ids, lengths, separator=self.tokenizer.sep_token_id), 0),
        }
        return side_by_side(columns, lengths)

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the losses ``head`` and, if it is part of the objective, ``late``, or {} if the batch has no
        masked token."""
        places = labelled(batch["labels"])
        if not len(places):
            return {}
        encoded = self.encoder.base_model(
            batch["masked_ids"],
            attention_mask=batch["attention_mask"],
            token_type_ids=segments_for(self.encoder, batch["segments"]),
            output_hidden_states=True,
        )
        late, early = encoded.last_hidden_state, encoded.hidden_states[self.early]  # (N, L, H)
        condensed = self.head(torch.cat((late[:, :1], early[:, 1:]), dim=1), batch["attention_mask"])
        labels = values_at(batch["labels"], places)
        losses = {"head": self._cross_entropy(values_at(condensed, places), labels)}
        if self.late:
            losses["late"] = self._cross_entropy(values_at(late, places), labels)
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return loss name -> the number of masked tokens that it averages over."""
        masked = divisor(batch["labels"], reduction="mean")
        return {"head": masked, "late": masked} if self.late else {"head": masked}

    def _cross_entropy(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return vocabulary_loss(hidden, self.encoder.cls, labels, reduction="mean")
