"""Probabilities of words in a collection, from counts of pieces."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from repro.errors import DataError, check_known
from repro.retrieval.nn.text import Words

COUNTS = ("collection-frequency", "document-frequency")
WORD_COUNTS = ("rarest-piece", "product")


@dataclasses.dataclass(frozen=True)
class CollectionWords:
    """The collection's unigram model of words that are not stop words, from counts of V vocabulary entries.

    P(w|C) of a word of one piece is its count over the sum of the counts of all words of one piece.

    Attributes:
        shares: (V,), each entry's count, at least one, over that sum.
        frequencies: (V,), the same by occurrences, even if ``shares`` counts documents.
        cumulated: (E + 1,), running sum over ``alone`` of the counts behind ``shares``, from 0.
        alone: (E,), ids of the entries that are a word by themselves.
        word_counts: reading ``word-counts-of-pieces``: P(w|C) of a word of several pieces is the smallest
            share of a piece (``rarest-piece``, an upper bound) or the ``product`` of the shares.
        words_a_text: the mean number of words in a text.
    """

    shares: np.ndarray
    frequencies: np.ndarray
    cumulated: np.ndarray
    alone: np.ndarray
    word_counts: str
    words_a_text: float

    @classmethod
    def of(cls, statistics: Path, words: Words, *, counts: str, word_counts: str) -> CollectionWords:
        """Return the model by the counts in a folder of term statistics.

        Args:
            counts: ``collection-frequency`` or ``document-frequency``.

        Raises UsageError for unknown names, DataError for missing counts or another vocabulary.
        """
        check_known("count of words", counts, valid=COUNTS)
        check_known("count of words in pieces", word_counts, valid=WORD_COUNTS)
        occurrences, texts = _read(statistics, COUNTS[0], words), _texts(statistics)
        chosen = occurrences if counts == COUNTS[0] else _read(statistics, counts, words)
        alone = np.flatnonzero(words.alone)
        return cls(
            shares=np.maximum(chosen, 1) / max(chosen[alone].sum(), 1),
            frequencies=np.maximum(occurrences, 1) / max(occurrences[alone].sum(), 1),
            cumulated=np.append(0, np.cumsum(chosen[alone])),
            alone=alone,
            word_counts=word_counts,
            words_a_text=float(occurrences[alone].sum() / texts),
        )

    def probabilities(
        self, pieces: Sequence[np.ndarray], others: Sequence[int] | np.ndarray = ()
    ) -> np.ndarray:
        """Return P(w|C), (W + E,), of W words given by their pieces, then of E words given by their ids in
        the vocabulary."""
        return self._of_words(self.shares, pieces, others)

    def relative_frequencies(
        self, pieces: Sequence[np.ndarray], others: Sequence[int] | np.ndarray = ()
    ) -> np.ndarray:
        """Return the relative frequencies by occurrences, (W + E,), of the same words as
        ``probabilities``."""
        return self._of_words(self.frequencies, pieces, others)

    def drawn(self, count: int, *, generator: np.random.Generator) -> np.ndarray:
        """Return the sorted ids of the distinct words in ``count`` draws from P(w|C), restricted to words of
        one piece."""
        total = self.cumulated[-1]
        if count < 1 or total == 0:
            return np.zeros(0, dtype=np.int64)
        places = np.searchsorted(self.cumulated, generator.integers(0, total, count), side="right") - 1
        return self.alone[np.unique(places)]

    def _of_words(self, values: np.ndarray, pieces, others) -> np.ndarray:
        single = values[np.asarray(others, dtype=np.int64)]
        if len(pieces) == 0:
            return single
        starts = np.cumsum([0, *(len(word) for word in pieces[:-1])])
        reduce = np.minimum if self.word_counts == "rarest-piece" else np.multiply
        return np.append(reduce.reduceat(values[np.concatenate(pieces)], starts), single)


def _read(statistics: Path, counts: str, words: Words) -> np.ndarray:
    path = statistics / f"{counts.replace('-', '_')}.npy"
    try:
        values = np.load(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as term statistics ({error})") from error
    if values.shape != words.continues.shape:
        size = len(words.continues)
        raise DataError(f"{path}: counts of shape {values.shape} are not of a vocabulary of {size} entries")
    return values


def _texts(statistics: Path) -> int:
    path = statistics / "counts.json"
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["texts"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: has no number of texts ({error})") from error
