"""Texts as token ids without padding; long texts are read as far as needed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from repro.retrieval.nn.recent_tokens import read_once

TOGETHER = 250  # texts that the library reads in one call; of each token it keeps 100 bytes and more
CHARACTERS = 6  # of a text for each token that is wanted; one of English takes about five, with the blank


@dataclass(frozen=True)
class TokenRows:
    """The tokens of N texts, end to end.

    Attributes:
        ids: (T,) int32, with special tokens.
        lengths: (N,), tokens of each text.
        padding: the id that rows are filled up with.
        kinds: (T,) int32, the segment of each token; None where the model is told no segments.
    """

    ids: np.ndarray
    lengths: np.ndarray
    padding: int
    kinds: np.ndarray | None = None

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], *, padding: int, kinds: Sequence | None = None) -> "TokenRows":
        """The rows of texts, from the ids, and kinds, of each."""
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        return cls(_flat(ids), lengths, padding, None if kinds is None else _flat(kinds))

    def __len__(self) -> int:
        return len(self.lengths)

    def inputs(self, rows: np.ndarray | slice = slice(None)) -> dict[str, torch.Tensor]:
        """``input_ids``, ``attention_mask`` and, with kinds, ``token_type_ids`` of some of the texts, int64.

        Args:
            rows: (n,), or a stretch of them; the default is all.

        Returns:
            (n, L) each, padded at the right to the longest of these texts.
        """
        lengths, starts = self.lengths[rows], (np.cumsum(self.lengths) - self.lengths)[rows]
        places = np.arange(lengths.max(initial=0))
        mask = places < lengths[:, None]  # (n, L)
        indices = (starts[:, None] + places)[mask]
        arrays = {"input_ids": np.full(mask.shape, self.padding, dtype=np.int64)}
        arrays["input_ids"][mask] = self.ids[indices]
        arrays["attention_mask"] = mask.astype(np.int64)
        if self.kinds is not None:
            arrays["token_type_ids"] = np.zeros(mask.shape, dtype=np.int64)
            arrays["token_type_ids"][mask] = self.kinds[indices]
        return {name: torch.from_numpy(values) for name, values in arrays.items()}


def _flat(rows: Iterable[Sequence[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int32)


def token_ids(
    tokenizer, texts: Sequence[str], *, length: int, add_special_tokens: bool = True
) -> list[list[int]]:
    """The ids of each text, cut to ``length`` tokens, just as the tokenizer's own call gives them.

    Of a text much longer than that, a beginning up to a blank is read, and more of it while fewer tokens come
    out. A BERT tokenizer reads each word by itself, so that the tokens before a blank do not depend on what
    follows; with any other tokenizer all of the text is read.

    Args:
        length: in tokens, with [CLS] and [SEP] where ``add_special_tokens``.
    """

    def read_ids(texts: Sequence[str]) -> list[list[int]]:
        return _read(tokenizer, texts, length=length, add_special_tokens=add_special_tokens)

    return read_once(texts, (tokenizer, length, add_special_tokens), read_ids)


def _read(tokenizer, texts: Sequence[str], *, length: int, add_special_tokens: bool) -> list[list[int]]:
    backend = truncating_tokenizer(tokenizer, length)
    options = {"add_special_tokens": add_special_tokens}
    limit = CHARACTERS * length
    if max(map(len, texts), default=0) <= limit or not _reads_words(tokenizer):
        return list(_ids(backend, texts, options))
    rows: list[list[int]] = [[]] * len(texts)
    unread = range(len(texts))
    while unread:
        beginnings = [_beginning(texts[place], limit) for place in unread]
        for place, row in zip(unread, _ids(backend, beginnings, options), strict=True):
            rows[place] = row
        sizes = dict(zip(unread, map(len, beginnings), strict=True))
        unread = [place for place in unread if len(rows[place]) < length and sizes[place] < len(texts[place])]
        limit *= 2
    return rows


def _ids(backend, texts: Sequence[str], options: dict[str, bool]) -> Iterator[list[int]]:
    """Yield the ids of each text; the library's own records of some texts leave memory before the next."""
    for first in range(0, len(texts), TOGETHER):
        for row in backend.encode_batch_fast(list(texts[first : first + TOGETHER]), **options):
            yield row.ids


def _beginning(text: str, limit: int) -> str:
    """A text up to the first blank behind so many characters."""
    end = text.find(" ", limit)
    return text if end < 0 else text[:end]


def truncating_tokenizer(tokenizer, length: int):
    """The library's tokenizer, set to cut as transformers' call with ``truncation=True`` sets it."""
    backend = tokenizer.backend_tokenizer
    truncation = {
        "max_length": length,
        "stride": 0,
        "strategy": "longest_first",
        "direction": tokenizer.truncation_side,
    }
    if {name: (backend.truncation or {}).get(name) for name in truncation} != truncation:
        backend.enable_truncation(**truncation)
    if backend.padding is not None:
        backend.no_padding()
    if backend.encode_special_tokens != tokenizer.split_special_tokens:
        backend.encode_special_tokens = tokenizer.split_special_tokens
    return backend


def _reads_words(tokenizer) -> bool:
    """Whether the tokens before a blank are independent of what follows it.

    BERT's normaliser changes characters one by one (marks are reordered within a word at most), its
    pre-tokeniser splits at every blank, and WordPiece sees one word; added tokens are found in the text as it
    is, which no blank inside them may join.
    """
    backend = tokenizer.backend_tokenizer
    return (
        isinstance(backend.normalizer, BertNormalizer)
        and isinstance(backend.pre_tokenizer, BertPreTokenizer)
        and isinstance(backend.model, WordPiece)
        and tokenizer.truncation_side == "right"
        and not any(
            token.normalized or " " in token.content for token in backend.get_added_tokens_decoder().values()
        )
    )
