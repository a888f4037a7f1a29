"""Strings to model inputs: how title and text are joined, cut, made two segments, and padded."""

from collections.abc import Sequence

import numpy as np
import torch


def passage_text(title: str, text: str, *, separator: str) -> str:
    """Title, separator, text as one string; the text alone where there is no title.

    Written as a special token (``[SEP]``), the separator becomes that token when the string is tokenised.
    """
    return f"{title}{separator}{text}" if title else text


def tokenised(tokenizer, texts: Sequence[str], *, length: int) -> dict[str, torch.Tensor]:
    """Each text as one sequence, cut to ``length`` tokens with [CLS] and [SEP], padded to the longest.

    No token_type_ids: every token is of the first segment, as in Tevatron.

    Returns:
        ``input_ids`` and ``attention_mask``, (N, L) with L <= ``length``, int64.
    """
    encoded = tokenizer(
        list(texts),
        max_length=length,
        truncation=True,
        padding=True,
        return_token_type_ids=False,
        return_tensors="pt",
    )
    return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}


PAIR = "pair"  # in place of a separator: title and text are two segments


def passage_inputs(
    tokenizer, titles: Sequence[str], texts: Sequence[str], *, length: int, separator: str
) -> dict[str, torch.Tensor]:
    """Titled passages as model inputs: joined by a separator, or as a ``pair`` of segments.

    Args:
        tokenizer: a fast tokenizer of the BERT family.
        titles, texts: N of each; a title may be empty.
        length: in tokens, with [CLS] and [SEP].
        separator: of ``passage_text``, or ``pair``.

    Returns:
        what ``segment_pairs`` does, or ``tokenised``, which has no ``token_type_ids``.
    """
    if separator == PAIR:
        return segment_pairs(tokenizer, titles, texts, length=length)
    joined = [passage_text(*pair, separator=separator) for pair in zip(titles, texts, strict=True)]
    return tokenised(tokenizer, joined, length=length)


def segment_pairs(
    tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int
) -> dict[str, torch.Tensor]:
    """[CLS] first [SEP] second [SEP], cut to ``length`` tokens from whichever is longer, padded.

    Where the first text is empty, [CLS] second [SEP] of one segment.

    Returns:
        ``input_ids``, ``attention_mask`` and ``token_type_ids`` (0 up to the first [SEP], then 1), (N, L)
        with L <= ``length``, int64.
    """
    rows = pair_rows(tokenizer, firsts, seconds, length=length)
    ids = [row["input_ids"] for row in rows]
    return {
        "input_ids": padded(ids, value=tokenizer.pad_token_id),
        "attention_mask": padded([np.ones_like(row) for row in ids], value=0),
        "token_type_ids": padded([row["token_type_ids"] for row in rows], value=0),
    }


def pair_rows(
    tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int
) -> list[dict[str, np.ndarray]]:
    """``input_ids`` and ``token_type_ids`` of each pair, (l,), l <= ``length``, as ``segment_pairs`` says."""
    paired = [place for place, first in enumerate(firsts) if first]
    alone = [place for place, first in enumerate(firsts) if not first]
    in_turn = _token_rows(tokenizer, _at(firsts, paired), _at(seconds, paired), length=length)
    in_turn += _token_rows(tokenizer, _at(seconds, alone), length=length)
    return [row for _, row in sorted(zip(paired + alone, in_turn, strict=True), key=lambda pair: pair[0])]


def _at(texts: Sequence[str], places: list[int]) -> list[str]:
    return [texts[place] for place in places]


def _token_rows(tokenizer, *texts: list[str], length: int) -> list[dict[str, np.ndarray]]:
    """Ids and segments of each text, or pair of texts."""
    if not texts[0]:
        return []
    encoded = tokenizer(*texts, max_length=length, truncation="longest_first", return_token_type_ids=True)
    columns = [map(np.array, encoded[name]) for name in ("input_ids", "token_type_ids")]
    return [{"input_ids": ids, "token_type_ids": kinds} for ids, kinds in zip(*columns, strict=True)]


def padded(rows: Sequence[np.ndarray], *, value: int) -> torch.Tensor:
    """Rows of unequal length side by side, filled up at the right: N of (l,) to (N, max l), int64."""
    full = np.full((len(rows), max(len(row) for row in rows)), value, dtype=np.int64)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return torch.from_numpy(full)
