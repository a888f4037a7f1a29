"""Whole words of a WordPiece text, marks and stop words left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np

from repro.errors import check_known

KINDS = ("words", "letters", "marks")


@dataclasses.dataclass(frozen=True)
class Words:
    """The words of a WordPiece vocabulary of V entries.

    Attributes:
        pieces: the entries, lower-cased, without ``##``.
        continues: (V,), whether an entry goes on with a word.
        barred: (V,), entries that no word found here may begin with: special tokens, and marks without a
            letter or digit, which the tokeniser parts from words but which are none.
        stop_words: lower-case words that are left out.
        stops: (V,), entries that are such a word by themselves.
        foreign: (V,), entries with which no word found here is written, wherever they stand in it.
        begins_stop: (V,), entries that a stop word begins with.
    """

    pieces: tuple[str, ...]
    continues: np.ndarray
    barred: np.ndarray
    stop_words: frozenset[str]
    stops: np.ndarray
    foreign: np.ndarray
    begins_stop: np.ndarray

    @classmethod
    def of(cls, tokenizer, stop_words: Collection[str], *, kind: str = "words") -> Words:
        """The words of a BERT tokenizer's vocabulary; ``kind`` is one of KINDS.

        ``words`` have a letter or digit at their beginning, ``letters`` are words of nothing but letters, and
        ``marks`` are all of it: words, and marks too.
        """
        check_known("kind of words", kind, valid=KINDS)
        entries = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        continues = np.array([entry.startswith("##") for entry in entries])
        pieces = tuple(entry.removeprefix("##").lower() for entry in entries)
        barred = np.array([not any(character.isalnum() for character in piece) for piece in pieces])
        barred &= kind != "marks"
        barred[tokenizer.all_special_ids] = True
        foreign = np.array([kind == "letters" and not piece.isalpha() for piece in pieces])
        words = frozenset(word.lower() for word in stop_words)
        stops = np.array([piece in words for piece in pieces])
        beginnings = {word[:end] for word in words for end in range(len(word) + 1)}
        begins_stop = np.array([piece in beginnings for piece in pieces])
        return cls(pieces, continues, barred, words, stops, foreign, begins_stop)

    @property
    def alone(self) -> np.ndarray:
        """The entries, (V,), that are a word by themselves and no stop word."""
        return ~(self.continues | self.barred | self.stops | self.foreign)

    @property
    def with_stop_words(self) -> Words:
        """The same words and the stop words among them."""
        none = np.zeros_like(self.stops)
        return dataclasses.replace(self, stop_words=frozenset(), stops=none, begins_stop=none)

    def spans(self, input_ids: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        """Every whole word of a text, in its order, as often as it occurs.

        The tail of a word which the text begins in the middle of is no whole word; one that is cut at the
        text's end cannot be told from a whole one and counts as such.

        Args:
            input_ids: (T,), without special tokens around; one text, or N end to end.
            lengths: (N,), tokens of each of several texts.

        Returns:
            (O, 2): first token, and one past the last, as places in ``input_ids``.
        """
        first = np.flatnonzero(~self.continues[input_ids])
        end = np.append(first, len(input_ids))[1:]  # nothing where there is no first
        if lengths is not None:
            end = np.minimum(end, np.repeat(np.cumsum(lengths), lengths)[first])
        mask, several = ~self.barred[input_ids[first]], end - first > 1
        for place in np.flatnonzero(mask & several & self.begins_stop[input_ids[first]]).tolist():
            word = "".join(map(self.pieces.__getitem__, input_ids[first[place] : end[place]].tolist()))
            mask[place] = word not in self.stop_words
        mask &= several | ~self.stops[input_ids[first]]
        foreign_counts = np.append(0, np.cumsum(self.foreign[input_ids]))
        mask &= foreign_counts[end] == foreign_counts[first]
        return np.stack((first, end), axis=1)[mask]


def distinct(input_ids: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tell occurrences of the same word.

    Args:
        input_ids: (n,).
        spans: (O, 2), of ``Words.spans``.

    Returns:
        the first occurrence of each word, (W, 2), in the text's order, and the number of each occurrence's
        word, (O,), in 0..W-1.
    """
    words: dict[bytes, int] = {}
    numbers = np.array(
        [words.setdefault(input_ids[a:b].tobytes(), len(words)) for a, b in spans.tolist()], dtype=np.int64
    )
    _, first = np.unique(numbers, return_index=True)
    return spans[first], numbers
