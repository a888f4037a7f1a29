"""Pairs of texts as token ids in two segments, where a text that stands in many pairs is read once."""

from collections.abc import Sequence

import numpy as np

from repro.retrieval.nn.token_rows import TokenRows, token_ids, truncating_tokenizer


def paired_rows(tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int) -> TokenRows:
    """The tokens of [CLS] first [SEP] second [SEP], and of [CLS] second [SEP] where the first is empty.

    Of a pair longer than ``length`` tokens the longer text loses its last ones, as transformers' call with
    ``truncation="longest_first"`` has it.
    """
    if length <= 3 or (frame := _frame(tokenizer)) is None:
        return _as_the_library_has_them(tokenizer, firsts, seconds, length=length)
    sides = [_distinct(tokenizer, texts, length=length) for texts in (firsts, seconds)]
    start, end = (np.array([token], dtype=np.int32) for token in frame)
    parts, sizes = [], np.zeros((len(firsts), 2), dtype=np.int64)  # sizes: tokens of either segment
    for place, pair in enumerate(zip(firsts, seconds, strict=True)):
        first, second = (side[text] for side, text in zip(sides, pair, strict=True))
        if not pair[0]:
            second = second[: length - 2]
            parts += (start, second, end)
            sizes[place, 0] = len(second) + 2
            continue
        if len(first) == len(second) == length:  # both are cut, and which is longer is not known here
            first, second = _cut_by_the_library(tokenizer, *pair, length=length)
        ends = _truncated_lengths(len(first), len(second), length - 3)
        parts += (start, first[: ends[0]], end, second[: ends[1]], end)
        sizes[place] = ends[0] + 2, ends[1] + 1
    ids = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    kinds = np.repeat(np.tile(np.int32([0, 1]), len(sizes)), sizes.ravel())
    return TokenRows(ids, sizes.sum(axis=1), tokenizer.pad_token_id, kinds)


def _distinct(tokenizer, texts: Sequence[str], *, length: int) -> dict[str, np.ndarray]:
    """The first ``length`` tokens of each text, by the text."""
    unique_texts = list(dict.fromkeys(texts))
    ids = token_ids(tokenizer, unique_texts, length=length, add_special_tokens=False)
    return {text: np.array(row, dtype=np.int32) for text, row in zip(unique_texts, ids, strict=True)}


def _truncated_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    """The tokens that are left of two texts where there is room for so many."""
    if first + second <= room:
        return first, second
    shorter = min(first, second, room // 2)
    return (room - shorter, shorter) if first > second else (shorter, room - shorter)


def _frame(tokenizer) -> tuple[int, int] | None:
    """[CLS] and [SEP] of a tokenizer that puts them around texts as BERT's does, else None."""
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
