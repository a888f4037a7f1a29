"""Pre-training by reconstruction, contrast of two masked versions, and masked language modelling (§3)."""

from pathlib import Path

import torch

from papers.cpdae.decoder import starting_decoder
from papers.cpdae.distribution_contrast import (
    DIRECTIONS,
    NORMALISATIONS,
    distribution_contrast,
    representation_contrast,
    word_distributions,
)
from papers.cpdae.idf import weights_of
from papers.cpdae.reconstruction import REDUCTIONS, SECOND_TERMS, text_losses, text_mean, word_labels
from repro.errors import UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer
from repro.retrieval.nn.contrastive import check_similarity
from repro.retrieval.nn.masked_tokens import Masking, mlm_loss, mlm_rows
from repro.retrieval.nn.objectives import BatchLoss, MaskedPretraining, with_head
from repro.retrieval.nn.precision import mapped

CONTRASTS = ("distribution", "representation", "none")
TARGETS = {"original": "clean_ids", "masked": "masked_ids"}


class DiscriminativeAutoencoder(MaskedPretraining, BatchLoss):
    """CPDAE: L_total = L_REC + L_MLM + lambda L_CL (Eq. 6) on two masked versions of every text.

    Choices that the paper leaves open are options named after their readings. The masks of a text depend on
    (seed, version, epoch, index) only.

    Args, with those of ``MaskedPretraining``:
        masking: {rate, mask, random} of BERT's masking (reading: mlm-masking).
        mlm_head: ``checkpoint`` or ``new``. The decoder's start is copied before a new head is drawn.
        mlm_reduction: ``mean`` over the masked tokens of a batch, or ``sum``.
        decoder, decoder_start: see ``starting_decoder``.
        second_term, reconstruction_reduction: see ``text_losses`` and ``text_mean``.
        target: whether the text's words to reconstruct are those before (``original``) or after masking
            (``masked``).
        special_tokens: whether special tokens count as words.
        versions: the number of versions with reconstruction and MLM, 1 or 2.
        idf: null, or {idf, normalise, both_terms} to weigh the reconstruction (IDF-REC), see
            ``idf_weights`` and ``text_losses``.
        contrast: ``distribution`` (Eq. 5), ``representation`` (CPDAE_R) or ``none``, always on both
            versions.
        weight: lambda.
        direction, contrast_reduction, temperature: see ``version_contrast``.
        divergence_scale, normalisation: see ``distribution_contrast`` and ``word_distributions``.
        similarity: ``dot`` or ``cosine``, only for ``representation``.
        seed: the seed of the masks. New weights come from torch's generator.
        statistics: folder of term statistics over the training texts, only for ``idf``.
    """

    weights: torch.Tensor | None
    idf: torch.Tensor | None
    name = "cpdae"
    version = 1

    def __init__(
        self,
        model: MaskedModel,
        tokenizer: Tokenizer,
        *,
        masking: Masking,
        mlm_head: str,
        mlm_reduction: str,
        decoder: str,
        decoder_start: str,
        second_term: str,
        target: str,
        special_tokens: bool,
        reconstruction_reduction: str,
        versions: int,
        idf: dict | None,
        contrast: str,
        weight: float,
        direction: str,
        contrast_reduction: str,
        temperature: float,
        divergence_scale: float,
        normalisation: str,
        similarity: str,
        length: int,
        seed: int,
        statistics: Path | None = None,
    ):
        super().__init__()
        check_known("contrast", contrast, valid=CONTRASTS)
        check_known("direction of the contrast", direction, valid=DIRECTIONS)
        check_known("reduction of the contrast", contrast_reduction, valid=("mean", "sum"))
        check_known("normalisation", normalisation, valid=NORMALISATIONS)
        check_known("second term of Eq. 4", second_term, valid=SECOND_TERMS)
        check_known("reduction of the reconstruction", reconstruction_reduction, valid=REDUCTIONS)
        check_known("target of the reconstruction", target, valid=TARGETS)
        check_known("reduction of masked language modelling", mlm_reduction, valid=("mean", "sum"))
        check_known("number of versions", versions, valid=(1, 2))
        if temperature <= 0:
            raise UsageError(f"the temperature is {temperature}. Give a number above 0.")
        self.decoder = starting_decoder(model, layout=decoder, start=decoder_start)
        self.encoder, self.tokenizer = with_head(model, mlm_head), tokenizer
        self.contrast, self.weight = contrast, weight
        self.predicted, self.made = versions, versions if contrast == "none" else 2
        self.temperature, self.direction, self.contrast_reduction = temperature, direction, contrast_reduction
        self.divergence_scale, self.normalisation = divergence_scale, normalisation
        self.similarity = check_similarity(similarity)
        self.second_term, self.reduction = second_term, reconstruction_reduction
        self.vocabulary_size = model.config.vocab_size
        self.register_buffer(
            "idf", weights_of(idf, statistics, vocabulary_size=model.config.vocab_size), persistent=False
        )
        self.both_terms = idf is not None and idf["both_terms"]
        self.target = TARGETS[target]
        self.left_out = [] if special_tokens else sorted(tokenizer.all_special_ids)
        self.masking, self.mlm_reduction, self.length, self.seed = masking, mlm_reduction, length, seed

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask`` of m token rows, (2m, L):
        all first versions, then all second ones. Without use of the second, (m, L)."""
        generators = [one for version in range(self.made) for one in self.generators(examples, version)]
        return self.masked(self.texts(examples) * self.made, generators)

    def represent(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the representations of a part of a batch: the keys of ``mlm_rows()``, ``reconstruction``
        (Eq. 4 of each text), and for L_CL ``first`` and ``second``, z~ (m, V) or h (m, H) of each version."""
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])  # (2m, L, H)
        counted = len(hidden) // self.made * self.predicted  # m or 2m: first versions come first
        labels = mapped(lambda rows: rows[:counted], batch["labels"])
        represented = mlm_rows(hidden[:counted], self.encoder.cls, labels)
        h_cls = hidden[:, 0]  # (2m, H), Eq. 1
        z = self.decoder(h_cls if self.contrast == "distribution" else h_cls[:counted])  # (., V), Eq. 2
        y = word_labels(
            batch[self.target][:counted],
            batch["attention_mask"][:counted],
            vocabulary_size=self.vocabulary_size,
            left_out=self.left_out,
        )
        represented["reconstruction"] = text_losses(
            z[:counted], y, second_term=self.second_term, weights=self.idf, both_terms=self.both_terms
        )
        if self.contrast != "none":
            vectors = self.contrast == "representation"
            rows = h_cls if vectors else word_distributions(z, normalisation=self.normalisation)
            represented["first"], represented["second"] = rows.chunk(2)
        return represented

    def losses(self, represented: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return ``mlm``, ``reconstruction`` (Eq. 4) and ``contrastive`` (lambda times Eq. 5).

        ``mlm`` is absent if nothing is masked, ``contrastive`` if there is only one text.
        """
        losses = mlm_loss(represented, reduction=self.mlm_reduction)
        losses["reconstruction"] = text_mean(
            represented["reconstruction"], reduction=self.reduction, vocabulary_size=self.vocabulary_size
        )
        if len(represented.get("first", ())) > 1:
            losses["contrastive"] = self.weight * self._contrast(represented["first"], represented["second"])
        return losses

    def save(self, folder: Path) -> None:
        """Save the encoder with its masked-language head, and the decoder."""
        super().save(folder)
        self.decoder.save(folder)

    def _contrast(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        if self.contrast == "representation":
            return representation_contrast(
                first,
                second,
                similarity=self.similarity,
                temperature=self.temperature,
                direction=self.direction,
                reduction=self.contrast_reduction,
            )
        return distribution_contrast(
            first,
            second,
            divergence_scale=self.divergence_scale,
            temperature=self.temperature,
            direction=self.direction,
            reduction=self.contrast_reduction,
        )
