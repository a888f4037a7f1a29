"""Token ids without padding. Long texts are tokenised only as far as needed.

E.g. for 64 tokens, at first only about 384 characters of a text are read.
"""

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

    def inputs(self, rows: np.ndarray | slice = slice(None)) -> dict[str, Tensor]:
        """Return model inputs of some texts, right-padded, (n, L) int64 each."""
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
    """Return the ids of each text, cut to ``length`` tokens, equal to the tokenizer's own."""
    recent, way = _recent.get(), (tokenizer, length, add_special_tokens)
    if recent is None:
        return _read(*way, texts)
    cache = recent.setdefault(way, {})
    new = [text for text in dict.fromkeys(texts) if text not in cache]
    rows = dict(zip(new, _read(*way, new), strict=True))
    ids = [cache[text] if text in cache else rows[text] for text in texts]
    cache.update(list(rows.items())[:MOST])
    for text in list(cache)[: max(0, len(cache) - MOST)]:
        del cache[text]
    return ids


def _read(tokenizer, length: int, add_special_tokens: bool, texts: Sequence[str]) -> list[list[int]]:
    backend = truncating_tokenizer(tokenizer, length)
    options = {"add_special_tokens": add_special_tokens}
    limit = CHARACTERS * length
    if max(map(len, texts), default=0) <= limit or not _reads_words(tokenizer):
        return list(_ids(backend, texts, options))
    rows: list[list[int]] = [[]] * len(texts)
    unread = list(range(len(texts)))
    while unread:
        beginnings = [_beginning(texts[place], limit) for place in unread]
        for place, row in zip(unread, _ids(backend, beginnings, options), strict=True):
            rows[place] = row
        sizes = dict(zip(unread, map(len, beginnings), strict=True))
        unread = [place for place in unread if len(rows[place]) < length and sizes[place] < len(texts[place])]
        limit *= 2
    return rows


def _ids(backend, texts: Sequence[str], options: dict[str, bool]) -> Iterator[list[int]]:
    for first in range(0, len(texts), TOGETHER):
        for row in backend.encode_batch_fast(list(texts[first : first + TOGETHER]), **options):
            yield row.ids


def _beginning(text: str, limit: int) -> str:
    end = text.find(" ", limit)
    return text if end < 0 else text[:end]


def truncating_tokenizer(tokenizer, length: int):
    """Return the library's tokenizer, set to truncate to ``length`` like transformers."""
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
    """Return whether the tokens before a blank are independent of the text after it.

    Added tokens are matched in the raw text, so they must not contain a blank.
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


def paired_rows(tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int) -> TokenRows:
    """Return the tokens of [CLS] first [SEP] second [SEP], or of [CLS] second [SEP] for an empty first.

    The longer text loses its last tokens above ``length``, as with ``longest_first``.
    """
    if length <= 3 or (frame := _frame(tokenizer)) is None:
        return _as_the_library_has_them(tokenizer, firsts, seconds, length=length)
    sides = [_distinct(tokenizer, texts, length=length) for texts in (firsts, seconds)]
    start, end = (np.array([token], dtype=np.int32) for token in frame)
    parts: list[np.ndarray] = []
    sizes = np.zeros((len(firsts), 2), dtype=np.int64)  # tokens per segment
    for place, pair in enumerate(zip(firsts, seconds, strict=True)):
        first, second = (side[text] for side, text in zip(sides, pair, strict=True))
        if not pair[0]:
            second = second[: length - 2]
            parts += (start, second, end)
            sizes[place, 0] = len(second) + 2
            continue
        if len(first) == len(second) == length:  # both are cut
            first, second = _cut_by_the_library(tokenizer, *pair, length=length)
        ends = _truncated_lengths(len(first), len(second), length - 3)
        parts += (start, first[: ends[0]], end, second[: ends[1]], end)
        sizes[place] = ends[0] + 2, ends[1] + 1
    ids = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    kinds = np.repeat(np.tile(np.array([0, 1], dtype=np.int32), len(sizes)), sizes.ravel())
    return TokenRows(ids, sizes.sum(axis=1), tokenizer.pad_token_id, kinds)


def _distinct(tokenizer, texts: Sequence[str], *, length: int) -> dict[str, np.ndarray]:
    unique_texts = list(dict.fromkeys(texts))
    ids = token_ids(tokenizer, unique_texts, length=length, add_special_tokens=False)
    return {text: np.array(row, dtype=np.int32) for text, row in zip(unique_texts, ids, strict=True)}


def _truncated_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    if first + second <= room:
        return first, second
    shorter = min(first, second, room // 2)
    return (room - shorter, shorter) if first > second else (shorter, room - shorter)


def _frame(tokenizer) -> tuple[int, int] | None:
    backend, (start, end) = tokenizer.backend_tokenizer, (tokenizer.cls_token_id, tokenizer.sep_token_id)
    if start is None or end is None or backend.post_processor is None or tokenizer.truncation_side != "right":
        return None
    truncating_tokenizer(tokenizer, 512)
    inner = backend.encode("a", add_special_tokens=False)
    single, pair = backend.post_process(inner), backend.post_process(inner, inner)
    a = inner.ids
    is_framed = single.ids == [start, *a, end] and pair.ids == [start, *a, end, *a, end]
    segments = [0] * (len(a) + 2) + [1] * (len(a) + 1)
    return (start, end) if is_framed and pair.type_ids == segments and not any(single.type_ids) else None


def _cut_by_the_library(tokenizer, first: str, second: str, *, length: int) -> tuple[np.ndarray, np.ndarray]:
    row = truncating_tokenizer(tokenizer, length).encode(first, second)
    ids, kinds = np.array(row.ids, dtype=np.int32), np.array(row.type_ids)
    return ids[kinds == 0][1:-1], ids[kinds == 1][:-1]


def _as_the_library_has_them(
    tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int
) -> TokenRows:
    pairs = [pair if pair[0] else pair[1] for pair in zip(firsts, seconds, strict=True)]
    rows = truncating_tokenizer(tokenizer, length).encode_batch_fast(pairs)
    kinds = [row.type_ids for row in rows]
    return TokenRows.of([row.ids for row in rows], padding=tokenizer.pad_token_id, kinds=kinds)
