"""The generator that fills masks with its own tokens (§3.1, Sample of Eq. 1, Appendix C)."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from papers.baselines.segments import segments_for
from papers.simlm.token_losses import average, units
from repro.errors import DataError, UsageError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel, Tokenizer, check_fits, load_masked_lm, load_tokenizer
from repro.retrieval.nn.masked_tokens import CHUNK, Head, places_of, values_at

TRAININGS = ("frozen", "joint", "joint-from-random")
DRAWS = ("independent", "shared")


class Generator(nn.Module):
    """g of Eq. 1: a masked language model that fills the masked positions. Tokens are sampled from the whole
    vocabulary at temperature 1. The original token can be sampled too.

    Args:
        model: the masked language model, which the generator may change.
        training: a row of Table 12. ``frozen``: it is not trained. ``joint``: it learns by its own loss.
            ``joint-from-random``: likewise, from new weights of the same architecture, drawn from torch's
            generator.
        dropout: reading ``generator-dropout``: whether the generator's dropout is active in training, even if
            it is frozen.
        draws: reading ``replacement-draws``, for positions masked on both sides: ``independent`` draws
            a token for each side, ``shared`` uses the encoder's token for the decoder too.
    """

    def __init__(self, model: MaskedModel, *, training: str, dropout: bool, draws: str):
        super().__init__()
        check_known("training of the generator", training, valid=TRAININGS)
        check_known("way to draw replacements", draws, valid=DRAWS)
        self.model: MaskedModel = type(model)(model.config) if training == "joint-from-random" else model
        self.learns, self.dropout, self.shared = training != "frozen", dropout, draws == "shared"
        if not self.learns:
            self.model.requires_grad_(False)

    def train(self, mode: bool = True) -> Generator:
        """Set the mode as for any module. Without ``dropout`` the model stays in evaluation mode."""
        super().train(mode)
        self.model.train(mode and self.dropout)
        return self

    def forward(
        self, batch: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return x_enc and x_dec of Eq. 1 for a batch from ``twice_masked()``, (N, L) int64 each, and, if the
        generator learns, the hidden states (M, H) of the encoder's M masked positions for its own loss, or
        None."""
        with torch.set_grad_enabled(self.learns and torch.is_grad_enabled()):
            places = places_of(batch["encoder_chosen"])
            hidden = self._hidden("encoder", batch, places)  # (M, H)
        encoder_ids = self._filled("encoder", batch, hidden, places)
        with torch.no_grad():
            places = places_of(batch["decoder_chosen"])
            decoder_ids = self._filled("decoder", batch, self._hidden("decoder", batch, places), places)
        if self.shared:
            decoder_ids = torch.where(batch["encoder_chosen"], encoder_ids, decoder_ids)
        return encoder_ids, decoder_ids, hidden if self.learns else None

    def loss(self, hidden: torch.Tensor, batch: dict[str, torch.Tensor], **mean: Any) -> torch.Tensor:
        """Return the generator's own cross-entropy at the encoder's M > 0 masked positions.

        ``hidden`` is (M, H), the third value of ``forward``. ``mean`` are the arguments ``per`` and
        ``groups`` of ``units``."""
        chosen = batch["encoder_chosen"]
        masked = values_at(batch["clean_ids"], places_of(chosen))  # (M,)
        return average(hidden, self.head, masked, units(chosen, **mean))

    @property
    def head(self) -> Head:
        """The head that maps states to logits over the vocabulary: (..., H) to (..., V)."""
        return vocabulary_head(self.model)

    def _hidden(self, side: str, batch: dict[str, torch.Tensor], places: torch.Tensor) -> torch.Tensor:
        encoded = self.model.base_model(
            batch[f"{side}_ids"],
            attention_mask=batch["attention_mask"],
            token_type_ids=segments_for(self.model, batch["segments"]),
        )
        return values_at(encoded.last_hidden_state, places)

    @torch.no_grad()
    def _filled(
        self, side: str, batch: dict[str, torch.Tensor], hidden: torch.Tensor, places: torch.Tensor
    ) -> torch.Tensor:
        ids = batch[f"{side}_ids"]
        if not len(hidden):
            return ids
        return ids.flatten().index_copy(0, places, sampled(hidden, self.head)).view_as(ids)


def starting_generator(
    start: Path | None, model: MaskedModel, tokenizer: Tokenizer, *, length: int
) -> MaskedModel:
    """Return the masked language model in the folder ``start``, or a copy of ``model`` if ``start`` is None.
    Raises DataError if it cannot be read or its vocabulary is not the tokenizer's, UsageError for fewer
    positions than ``length``."""
    if start is None:
        return copy.deepcopy(model)
    generator = load_masked_lm(start)
    if load_tokenizer(start).get_vocab() != tokenizer.get_vocab():
        raise DataError(f"{start}: the vocabulary differs from the model's. Give a generator that shares it.")
    check_fits(generator, tokenizer, length)
    return generator


def vocabulary_head(model: Any) -> Head:
    """Return the head from last hidden states to logits: BERT's ``cls``, RoBERTa's ``lm_head`` or ELECTRA's
    two steps. Raises UsageError for a model of another kind."""
    if hasattr(model, "generator_lm_head"):
        return lambda hidden: model.generator_lm_head(model.generator_predictions(hidden))
    for name in ("cls", "lm_head"):
        if hasattr(model, name):
            return getattr(model, name)
    raise UsageError(
        f"{type(model).__name__} has no known masked-language head (cls, lm_head or generator_lm_head)"
    )


@torch.no_grad()
def sampled(hidden: torch.Tensor, head: Head) -> torch.Tensor:
    """Return a token for each row of ``hidden``, drawn from softmax(head(hidden)) by torch's generator: (M,
    H) to (M,) int64.

    Uses the inverse of the cumulative distribution, with one random number per row. ``torch.multinomial``
    draws one per token of the vocabulary.
    """
    drawn = []
    for rows in hidden.split(CHUNK):
        logits = head(rows)
        probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(dim=-1)
        cumulative = probabilities.cumsum(dim=-1)
        total = cumulative[:, -1:].contiguous()
        uniform = torch.rand_like(total) * total
        chosen = torch.searchsorted(cumulative, uniform, right=True)
        last = torch.searchsorted(cumulative, total)  # the last that has any probability
        drawn.append(torch.minimum(chosen, last).squeeze(1))
    return torch.cat(drawn)
