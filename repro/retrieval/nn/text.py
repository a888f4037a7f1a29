"""Model inputs from strings: truncation, segments, padding, and whole words."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from repro.retrieval.nn.precision import Tensors
from repro.retrieval.nn.tokens import TokenRows, paired_rows, token_ids


def passage_text(title: str, text: str, *, separator: str) -> str:
    """Return e.g. ``Title[SEP]Text``, or only the text without a title."""
    return f"{title}{separator}{text}" if title else text


def tokenised(tokenizer, texts: Sequence[str], *, length: int) -> Tensors:
    """Return ``input_ids`` and ``attention_mask``, (N, L) int64, of texts cut to ``length`` tokens."""
    return text_rows(tokenizer, texts, length=length).inputs()


def text_rows(tokenizer, texts: Sequence[str], *, length: int) -> TokenRows:
    """Return the tokens of each text, cut to ``length`` with [CLS] and [SEP]."""
    ids = token_ids(tokenizer, texts, length=length)
    return TokenRows.of(ids, padding=tokenizer.pad_token_id)


PAIR = "pair"  # a separator for two segments


def passage_rows(
    tokenizer, titles: Sequence[str], texts: Sequence[str], *, length: int, separator: str
) -> TokenRows:
    """Return the tokens of titled passages, joined by ``separator``, or as two segments if it is "pair"."""
    if separator == PAIR:
        return paired_rows(tokenizer, titles, texts, length=length)
    strings = [passage_text(*pair, separator=separator) for pair in zip(titles, texts, strict=True)]
    return text_rows(tokenizer, strings, length=length)


def padded(rows: Sequence[np.ndarray], *, value: int) -> Tensor:
    """Right-pad rows of unequal length: N of (l,) to (N, max l), int64."""
    tensors = [torch.as_tensor(row, dtype=torch.int64) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=value)


def frame_texts(texts: Sequence[np.ndarray], tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Return texts end to end, each between [CLS] and [SEP], (T,), and lengths, (N,)."""
    lengths = np.array([len(text) + 2 for text in texts])
    ends = np.cumsum(lengths)
    tokens = np.full(ends[-1], tokenizer.sep_token_id)
    tokens[ends - lengths] = tokenizer.cls_token_id
    tokens[inner_tokens(lengths)] = np.concatenate(texts)
    return tokens, lengths


def inner_tokens(lengths: np.ndarray) -> np.ndarray:
    """Return a mask, (T,), that is False at each framed text's first and last token."""
    ends = np.cumsum(lengths)
    inner = np.ones(ends[-1], bool)
    inner[ends - lengths] = inner[ends - 1] = False
    return inner


def side_by_side(columns: Mapping[str, tuple[np.ndarray, int | bool]], lengths: np.ndarray) -> Tensors:
    """Return each column as right-padded rows, (N, L), and ``attention_mask``.

    ``columns`` map a name to (values of all tokens of N texts end to end, (T,), value for padding).
    """
    mask = np.arange(lengths.max()) < lengths[:, None]
    arrays = {"attention_mask": mask.astype(np.int64)}
    for name, (values, fill) in columns.items():
        arrays[name] = np.full(mask.shape, fill, dtype=values.dtype)
        arrays[name][mask] = values
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


@dataclasses.dataclass(frozen=True)
class Words:
    """The words of a WordPiece vocabulary of V entries. Arrays are (V,) bool.

    Attributes:
        pieces: the entries, lower-cased, without ``##``.
        continues: whether an entry continues a word.
        barred: whether no word begins with the entry, e.g. a special token.
        stop_words: excluded words, in lower case.
        stops: whether an entry is a stop word.
        foreign: whether no word contains the entry.
        begins_stop: whether a stop word begins with the entry.
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
        """Return the words of one ``kind`` in a tokenizer's vocabulary, without stop words.

        ``words`` begin with an entry that has a letter or digit. ``letters`` are words of letters only. With
        ``marks``, punctuation marks are words too.
        """
        entries = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        continues = np.array([entry.startswith("##") for entry in entries])
        pieces = tuple(entry.removeprefix("##").lower() for entry in entries)
        words = frozenset(map(str.lower, stop_words))
        beginnings = {word[:end] for word in words for end in range(len(word) + 1)}
        has_sign, is_alphabetic, stops, begins_stop = (
            np.fromiter(values, dtype=bool, count=len(pieces))
            for values in (
                (any(map(str.isalnum, piece)) for piece in pieces),
                *(map(test, pieces) for test in (str.isalpha, words.__contains__, beginnings.__contains__)),
            )
        )
        barred = ~has_sign & (kind != "marks")
        barred[tokenizer.all_special_ids] = True
        foreign = ~is_alphabetic & (kind == "letters")
        return cls(pieces, continues, barred, words, stops, foreign, begins_stop)

    @property
    def alone(self) -> np.ndarray:
        """A mask, (V,), of the entries that are a whole word and no stop word."""
        return ~(self.continues | self.barred | self.stops | self.foreign)

    @property
    def with_stop_words(self) -> Words:
        none = np.zeros_like(self.stops)
        return dataclasses.replace(self, stop_words=frozenset(), stops=none, begins_stop=none)

    def spans(self, input_ids: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        """Return every whole word of a text in order, including repetitions, without stop words.

        The tail of a word that begins before the text is left out. A word that is cut at the end counts.
        ``input_ids`` are (T,), of one text, or of N end to end with ``lengths``, (N,). Returns (O, 2): first
        token, and one past the last.
        """
        first = np.flatnonzero(~self.continues[input_ids])
        end = np.append(first, len(input_ids))[1:]
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
    """Group occurrences of the same word, given by the spans (O, 2) of ``Words.spans``.

    Returns each word's first span, (W, 2), and the index of each occurrence's word, (O,).
    """
    words: dict[bytes, int] = {}
    numbers = np.array(
        [words.setdefault(input_ids[a:b].tobytes(), len(words)) for a, b in spans.tolist()], dtype=np.int64
    )
    _, first = np.unique(numbers, return_index=True)
    return spans[first], numbers
