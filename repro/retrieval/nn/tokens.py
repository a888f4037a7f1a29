"""Token ids without padding. Long texts are tokenised only as far as needed."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor

MOST = 4096  # cached texts per way of tokenising: 75 MB with 512 tokens
_recent: ContextVar[dict[tuple, dict[str, list[int]]] | None] = ContextVar("recent tokens", default=None)


@contextlib.contextmanager
def tokens_remembered() -> Iterator[None]:
    """Tokenise repeated texts only once within this context."""
    token = _recent.set({})
    try:
        yield
    finally:
        _recent.reset(token)


TOGETHER = 250  # texts per call of the library
CHARACTERS = 6  # per wanted token. English tokens have about five


@dataclass(frozen=True)
class TokenRows:
    """The tokens of N texts, end to end.

    ``ids`` are (T,) int32, ``lengths`` (N,), and ``kinds`` (T,) int32 each token's segment, or None.
    """

    ids: np.ndarray
    lengths: np.ndarray
    padding: int
    kinds: np.ndarray | None = None

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], *, padding: int, kinds: Sequence | None = None) -> "TokenRows":
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        return cls(_flat(ids), lengths, padding, None if kinds is None else _flat(kinds))

    def __len__(self) -> int:
        return len(self.lengths)

    def each(self) -> list[np.ndarray]:
        return np.split(self.ids, np.cumsum(self.lengths))[:-1]

    def inputs(self, rows: np.ndarray | slice = slice(None)) -> dict[str, Tensor]:
        """Return right-padded model inputs of some texts, e.g. ``input_ids``, (n, L) int64 each."""
        lengths, starts = self.lengths[rows], (np.cumsum(self.lengths) - self.lengths)[rows]
        places = np.arange(lengths.max(initial=0))
        mask = places < lengths[:, None]
        indices = (starts[:, None] + places)[mask]
        arrays = {"input_ids": np.full(mask.shape, self.padding, dtype=np.int64)}
        arrays["input_ids"][mask] = self.ids[indices]
        arrays["attention_mask"] = mask.astype(np.int64)
        if self.kinds is not None:
            arrays["token_type_ids"] = np.zeros(mask.shape, np.int64)
            arrays["token_type_ids"][mask] = self.kinds[indices]
        return {name: torch.from_numpy(values) for name, values in arrays.items()}


def _flat(rows: Iterable[Sequence[int]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int32)


def token_ids(tokenizer, texts: Sequence[str], *, length: int) -> list[list[int]]:
    """Return the ids of each text, cut to ``length`` tokens, equal to the tokenizer's own."""
    recent = _recent.get()
    if recent is None:
        return _read(tokenizer, length, texts)
    cache = recent.setdefault((tokenizer, length), {})
    new = [text for text in dict.fromkeys(texts) if text not in cache]
    rows = dict(zip(new, _read(tokenizer, length, new), strict=True))
    ids = [cache[text] if text in cache else rows[text] for text in texts]
    cache.update(list(rows.items())[:MOST])
    for text in list(cache)[: max(0, len(cache) - MOST)]:
        del cache[text]
    return ids


def _read(tokenizer, length: int, texts: Sequence[str]) -> list[list[int]]:
    backend = truncating_tokenizer(tokenizer, length)
    limit = CHARACTERS * length
    if max(map(len, texts), default=0) <= limit or not _reads_words(tokenizer):
        return list(_ids(backend, texts))
    rows: list[list[int]] = [[]] * len(texts)
    unread = list(range(len(texts)))
    while unread:
        beginnings = [texts[n][:limit] + texts[n][limit:].partition(" ")[0] for n in unread]
        for place, row in zip(unread, _ids(backend, beginnings), strict=True):
            rows[place] = row
        pairs = zip(unread, beginnings, strict=True)
        unread = [n for n, text in pairs if len(rows[n]) < length and len(text) < len(texts[n])]
        limit *= 2
    return rows


def _ids(backend, texts: Sequence[str]) -> Iterator[list[int]]:
    for first in range(0, len(texts), TOGETHER):
        for row in backend.encode_batch_fast(list(texts[first : first + TOGETHER])):
            yield row.ids


def truncating_tokenizer(tokenizer, length: int):
    """Return the library's tokenizer, changed in place to truncate to ``length`` and not to pad."""
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
    """Return whether the tokens before a blank are independent of the text after it."""
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


def paired_rows(tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int) -> TokenRows:
    """Return the tokens of [CLS] first [SEP] second [SEP], or of [CLS] second [SEP] for an empty first.

    Above ``length`` tokens the longer of both texts loses its last tokens.
    """
    pairs = [pair if pair[0] else pair[1] for pair in zip(firsts, seconds, strict=True)]
    rows = truncating_tokenizer(tokenizer, length).encode_batch_fast(pairs)
    kinds = [row.type_ids for row in rows]
    return TokenRows.of([row.ids for row in rows], padding=tokenizer.pad_token_id, kinds=kinds)
