"""Strings to model inputs: how title and text are joined, cut, made two segments, and padded."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from repro.retrieval.nn.tokens import TokenRows, paired_rows, token_ids


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
    return text_rows(tokenizer, texts, length=length).inputs()


def text_rows(tokenizer, texts: Sequence[str], *, length: int) -> TokenRows:
    """The tokens of each text as ``tokenised`` has them, without padding."""
    ids = token_ids(tokenizer, texts, length=length)
    return TokenRows.of(ids, padding=tokenizer.pad_token_id)


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
    return passage_rows(tokenizer, titles, texts, length=length, separator=separator).inputs()


def passage_rows(
    tokenizer, titles: Sequence[str], texts: Sequence[str], *, length: int, separator: str
) -> TokenRows:
    """The tokens of each passage as ``passage_inputs`` has them, without padding."""
    if separator == PAIR:
        return paired_rows(tokenizer, titles, texts, length=length)
    strings = [passage_text(*pair, separator=separator) for pair in zip(titles, texts, strict=True)]
    return text_rows(tokenizer, strings, length=length)


def segment_pairs(
    tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int
) -> dict[str, torch.Tensor]:
    """[CLS] first [SEP] second [SEP], cut to ``length`` tokens from whichever is longer, padded.

    Where the first text is empty, [CLS] second [SEP] of one segment.

    Returns:
        ``input_ids``, ``attention_mask`` and ``token_type_ids`` (0 up to the first [SEP], then 1), (N, L)
        with L <= ``length``, int64.
    """
    return paired_rows(tokenizer, firsts, seconds, length=length).inputs()


def pair_rows(
    tokenizer, firsts: Sequence[str], seconds: Sequence[str], *, length: int
) -> list[dict[str, np.ndarray]]:
    """``input_ids`` and ``token_type_ids`` of each pair, (l,), l <= ``length``, as ``segment_pairs`` says."""
    rows = paired_rows(tokenizer, firsts, seconds, length=length)
    ends = np.cumsum(rows.lengths)[:-1]
    kinds = np.zeros_like(rows.ids) if rows.kinds is None else rows.kinds
    columns = (np.split(values.astype(np.int64), ends) for values in (rows.ids, kinds))
    pairs = list(zip(*columns, strict=True))[: len(rows)]  # nothing is split into one piece
    return [{"input_ids": ids, "token_type_ids": kinds} for ids, kinds in pairs]


def padded(rows: Sequence[np.ndarray], *, value: int) -> torch.Tensor:
    """Rows of unequal length side by side, filled up at the right: N of (l,) to (N, max l), int64."""
    full = np.full((len(rows), max(len(row) for row in rows)), value, dtype=np.int64)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return torch.from_numpy(full)


def frame_texts(texts: Sequence[np.ndarray], tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Texts end to end, each between [CLS] and [SEP]: N of (n,) to (T,) int64, and tokens of each, (N,)."""
    lengths = np.array([len(text) + 2 for text in texts])
    ends = np.cumsum(lengths)
    tokens = np.full(ends[-1], tokenizer.sep_token_id)
    tokens[ends - lengths] = tokenizer.cls_token_id
    tokens[inner_tokens(lengths)] = np.concatenate(texts)
    return tokens, lengths


def inner_tokens(lengths: np.ndarray) -> np.ndarray:
    """Which tokens of framed texts that lie end to end are neither the first nor the last of theirs, (T,)."""
    ends = np.cumsum(lengths)
    inner = np.ones(ends[-1], dtype=bool)
    inner[ends - lengths] = inner[ends - 1] = False
    return inner


def side_by_side(
    columns: Mapping[str, tuple[np.ndarray, int | bool]], lengths: np.ndarray
) -> dict[str, torch.Tensor]:
    """Texts that lie end to end, in rows of equal length, and their ``attention_mask``.

    Args:
        columns: for each token a value, (T,), and the value that rows are filled up with at the right.
        lengths: (N,), tokens of each text.

    Returns:
        (N, L) each, of the columns' types; the mask is int64.
    """
    mask = np.arange(lengths.max()) < lengths[:, None]  # (N, L)
    arrays = {"attention_mask": mask.astype(np.int64)}
    for name, (values, fill) in columns.items():
        arrays[name] = np.full(mask.shape, fill, dtype=values.dtype)
        arrays[name][mask] = values
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
