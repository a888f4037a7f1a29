"""Texts of both representative-word objectives: their masks, and which ones an epoch skips."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from papers.baselines.whole_words import UNITS, WholeWords, covered
from repro.errors import UsageError, check_known
from repro.retrieval.nn.masked_tokens import IGNORED, masked_texts
from repro.retrieval.nn.text import frame_texts, side_by_side


@dataclasses.dataclass(frozen=True)
class ShortTexts:
    """The texts that an epoch skips (reading: short-text-skipping).

    Attributes:
        share: the probability that a text with fewer than ``below`` tokens is skipped.
        below: a number of tokens, without [CLS] and [SEP].
        fewest_words: texts with fewer distinct words to draw are always skipped.
    """

    share: float
    below: int
    fewest_words: int

    def __post_init__(self):
        if not 0 <= self.share <= 1:
            raise UsageError(f"the share of skipped short texts is {self.share}. Give one in 0..1.")

    def skipped(self, tokens: int, words: int, *, generator: np.random.Generator) -> bool:
        """Return whether a text with these numbers of tokens and distinct words is skipped."""
        return (generator.random() < self.share and tokens < self.below) or words < self.fewest_words


@dataclasses.dataclass(frozen=True)
class TextMasks:
    """BERT's masking, of whole words or single tokens (reading: preference-masking).

    Attributes:
        unit: ``whole-word`` masks whole words up to a quota of ``rate`` times the text's words, at most
            ``most`` tokens. ``bernoulli`` masks every token independently.
        rate, mask, random: see ``masked_tokens``.
        most: the maximum number of masked tokens, or null.
    """

    rate: float
    mask: float
    random: float
    unit: str
    most: int | None

    def __post_init__(self):
        check_known("masking unit", self.unit, valid=UNITS)

    def masked(
        self, texts: Sequence[np.ndarray], tokenizer, generators: Sequence[np.random.Generator]
    ) -> dict[str, torch.Tensor]:
        """Return ``clean_ids``, ``masked_ids``, ``labels`` and ``attention_mask`` of N texts, (N, L)."""
        if self.unit == "bernoulli":
            return masked_texts(
                texts,
                tokenizer=tokenizer,
                generators=generators,
                rate=self.rate,
                mask=self.mask,
                random=self.random,
                draw="each",
            )
        words = WholeWords.of(tokenizer)
        ids, lengths = frame_texts(texts, tokenizer)
        chosen = words.chosen(
            ids, lengths, rate=self.rate, generators=generators, quota="words", most=self.most
        )
        hidden = covered(
            ids,
            lengths,
            chosen,
            tokenizer=tokenizer,
            mask=self.mask,
            random=self.random,
            generators=generators,
        )
        columns = {
            "clean_ids": (ids, tokenizer.pad_token_id),
            "masked_ids": (hidden, tokenizer.pad_token_id),
            "labels": (np.where(chosen, ids, IGNORED), IGNORED),
        }
        return side_by_side(columns, lengths)
