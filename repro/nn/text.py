"""Strings to model inputs: how title and text are joined and where they are cut."""

from __future__ import annotations

from collections.abc import Sequence

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
