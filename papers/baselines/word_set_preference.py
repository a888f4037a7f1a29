"""The loss that both representative-word objectives share: a text prefers one word set of each pair."""

import dataclasses

import torch

from repro.errors import check_known
from repro.retrieval.nn.checkpoint import MaskedModel
from repro.retrieval.nn.contrastive import check_similarity, own_scores
from repro.retrieval.nn.masked_tokens import divisor, labelled, places_of, values_at, vocabulary_loss
from repro.retrieval.nn.precision import on_host

SCORES = ("similarity", "pair-softmax")
INPUTS = ("masked", "clean")


@dataclasses.dataclass(frozen=True)
class PreferenceLoss:
    """L = weight L_ROP + L_MLM over a batch of texts with their word sets, one encoder for both.

    Attributes:
        similarity: how the [CLS] vectors of a text and a set are compared: ``dot`` or ``cosine``.
        scores, margin: arguments of ``preference_hinge``.
        weight: the weight of L_ROP.
        contrastive_input: whether L_ROP sees the text as masked for L_MLM (``masked``, as in the released
            cross-encoder) or in a pass of its own (``clean``).
        mlm_reduction: ``mean`` or ``sum`` over masked tokens.
    """

    similarity: str
    scores: str
    margin: float
    weight: float
    contrastive_input: str
    mlm_reduction: str

    def __post_init__(self):
        check_similarity(self.similarity)
        check_known("kind of preference scores", self.scores, valid=SCORES)
        check_known("contrastive input", self.contrastive_input, valid=INPUTS)
        check_known("reduction", self.mlm_reduction, valid=("mean", "sum"))

    def losses(self, encoder: MaskedModel, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return ``mlm`` and the weighted ``preference``. A loss without data is absent.

        Args:
            encoder: with ``base_model`` and ``cls`` like BertForMaskedLM.
            batch: the results of ``masked_texts()`` and ``set_arrays()``.
        """
        losses, mask = {}, batch["attention_mask"]
        hidden = encoder.base_model(batch["masked_ids"], attention_mask=mask).last_hidden_state  # (N, L, H)
        places = labelled(batch["labels"])
        if len(places):
            wanted = values_at(hidden, places), encoder.cls, values_at(batch["labels"], places)
            losses["mlm"] = vocabulary_loss(*wanted, reduction=self.mlm_reduction)
        if on_host(batch["pair_mask"]).any():
            if self.contrastive_input == "clean":
                hidden = encoder.base_model(batch["clean_ids"], attention_mask=mask).last_hidden_state
            losses["preference"] = self.weight * self._preference(hidden[:, 0], encoder, batch)
        return losses

    def denominators(self, batch: dict[str, torch.Tensor]) -> dict[str, int | None]:
        """Return loss name -> the number that it is a mean over: the masked tokens of ``mlm``, or None for a
        sum, and the pairs of sets of ``preference``."""
        masked = divisor(batch["labels"], reduction=self.mlm_reduction)
        return {"mlm": masked, "preference": int(on_host(batch["pair_mask"]).sum())}

    def _preference(self, texts: torch.Tensor, encoder, batch) -> torch.Tensor:
        encoded = encoder.base_model(batch["set_ids"], attention_mask=batch["set_attention_mask"])
        sets = encoded.last_hidden_state[:, 0]  # (2NP, H)
        scores = own_scores(texts, sets, similarity=self.similarity)  # (N, 2P)
        values = scores.view(*batch["pair_mask"].shape, 2)  # (N, P, 2)
        return preference_hinge(values, batch["pair_mask"], scores=self.scores, margin=self.margin)


def preference_hinge(
    values: torch.Tensor, pair_mask: torch.Tensor, *, scores: str, margin: float
) -> torch.Tensor:
    """Return the hinge loss that scores the preferred set of a pair above the other one by a margin, averaged
    over the pairs of the batch.

        L_ROP = mean max(0, margin - s(w+|d) + s(w-|d))

    Reading ``preference-scores``: s is the similarity (``similarity``), or its softmax over the two sets of
    the pair (``pair-softmax``), as in the released code of PROP. With a margin of 1 the latter is twice the
    other set's probability and never 0.

    Args:
        values: (N, P, 2), similarities of text and set, the preferred set first.
        pair_mask: (N, P), True where a pair exists. At least one must exist.
    """
    assert scores in SCORES, scores
    if scores == "pair-softmax":
        values = values.softmax(dim=-1)
    losses = (margin - values[..., 0] + values[..., 1]).clamp(min=0)  # (N, P)
    return losses.flatten()[places_of(pair_mask)].mean()
