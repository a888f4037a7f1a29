"""Pairs of word sets drawn from a distribution over words, the more likely one first."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import torch

from repro.errors import UsageError, check_known
from repro.retrieval.nn.text import padded

SIZES = ("positive", "plus-one")
RESAMPLINGS = ("once", "epoch")
TIES = ("again", "second")
TRIES = 10  # draws of a pair whose sets come out equally likely, before it is given up


@dataclasses.dataclass(frozen=True)
class SetSampling:
    """A way to draw word sets (readings: word-set-size, word-set-repeats, word-set-pairs).

    Attributes:
        pairs: P, the number of pairs of sets for each text.
        size_mean: the mean of the Poisson distribution of a set's number of words, which is the same for both
            sets of a pair.
        size: ``positive`` repeats a draw of 0, ``plus-one`` adds one to every draw.
        repeats: whether a set may contain a word twice. It may in any case if it needs more words than exist.
        ties: the treatment of two sets with the same score: ``again`` draws both again, ``second`` prefers
            the second, as the released code does (reading: word-set-ties).
    """

    pairs: int
    size_mean: float
    size: str
    repeats: bool
    ties: str

    def __post_init__(self):
        check_known("size of a word set", self.size, valid=SIZES)
        check_known("treatment of equal word sets", self.ties, valid=TIES)
        if self.pairs < 1:
            raise UsageError(f"there are {self.pairs} pairs of word sets for a text. Give at least 1.")
        if not 0 < self.size_mean < math.inf:
            raise UsageError(f"the mean size of a word set is {self.size_mean}. Give a number above 0.")

    def sizes(self, generator: np.random.Generator) -> np.ndarray:
        """Return the sizes of the sets of P pairs, (P,) int64, all at least 1."""
        if self.size == "plus-one":
            return generator.poisson(self.size_mean, self.pairs) + 1
        sizes = generator.poisson(self.size_mean, self.pairs)
        while (sizes == 0).any():
            sizes[sizes == 0] = generator.poisson(self.size_mean, int((sizes == 0).sum()))
        return sizes

    def drawn(
        self, log_weights: np.ndarray, scores: np.ndarray, *, generator: np.random.Generator
    ) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Draw P pairs of sets of words 0..W-1. The preferred set, with the higher sum of scores, is first.

        With ``ties`` = ``again``, sets with equal sums are drawn again. After ``TRIES`` draws, and for fewer
        than two words, the pair is None.

        Args:
            log_weights: (W,), the logarithm of the distribution, up to a constant.
            scores: (W,).
        """
        if len(scores) < 2:
            return [None] * self.pairs
        return [self._pair(int(size), log_weights, scores, generator) for size in self.sizes(generator)]

    def _pair(self, size, log_weights, scores, generator) -> tuple[np.ndarray, np.ndarray] | None:
        repeats = self.repeats or len(scores) <= size
        for _ in range(TRIES):
            left, right = _sets(log_weights, size, repeats, generator)
            # in one order of addition, so that the same words always have the same sum
            above = scores[np.sort(left)].sum() - scores[np.sort(right)].sum()
            if above != 0 or self.ties == "second":
                return (left, right) if above > 0 else (right, left)
        return None


def _sets(log_weights: np.ndarray, size: int, repeats: bool, generator) -> np.ndarray:
    """Return (2, size) words. Without repeats, these are the largest of Gumbel-perturbed log-weights."""
    if repeats:
        cumulated = np.cumsum(np.exp(log_weights - log_weights.max()))
        places = np.searchsorted(cumulated, generator.random((2, size)) * cumulated[-1], side="right")
        return np.minimum(places, len(cumulated) - 1)
    perturbed = log_weights + generator.gumbel(size=(2, len(log_weights)))
    return np.argsort(-perturbed, axis=1, kind="stable")[:, :size]


def set_arrays(
    pairs: Sequence[Sequence[tuple[np.ndarray, np.ndarray] | None]],
    pieces: Sequence[Sequence[np.ndarray]],
    *,
    tokenizer,
    most: int,
) -> dict[str, torch.Tensor]:
    """Return the word sets of N texts as sequences: [CLS], the pieces of the words in the order drawn, [SEP].

    Args:
        pairs: for each of N texts the P pairs from ``SetSampling.drawn``.
        pieces: for each text the tokens of its W words, which the pairs refer to by number.
        most: the maximum number of tokens of a set, without [CLS] and [SEP]. Further tokens are cut off.

    Returns ``set_ids`` and ``set_attention_mask``, (2NP, S) int64, text by text and pair by pair, the
    preferred set first, and ``pair_mask``, (N, P) bool, False where a pair is None (its sets are then empty).
    """
    cls, sep, nothing = [tokenizer.cls_token_id], [tokenizer.sep_token_id], np.zeros(0, dtype=np.int64)
    rows = []
    for text_pairs, words in zip(pairs, pieces, strict=True):
        for pair in text_pairs:
            for chosen in pair or (nothing, nothing):
                inside = np.concatenate([nothing, *(words[word] for word in chosen.tolist())])[:most]
                rows.append(np.concatenate((cls, inside, sep)))
    return {
        "set_ids": padded(rows, value=tokenizer.pad_token_id),
        "set_attention_mask": padded([np.ones_like(row) for row in rows], value=0),
        "pair_mask": torch.tensor([[pair is not None for pair in text_pairs] for text_pairs in pairs]),
    }
