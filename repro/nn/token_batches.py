"""Texts to be encoded in batches of similar lengths, about as many tokens in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from repro.nn.precision import device

TOGETHER = 2_000  # texts tokenised in one call, which uses all cores and little memory
TOKENS = {"cpu": 32 * 128, "cuda": 512 * 128}  # of a batch, with padding


def tokenised_together(texts: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Rows of (title, text) by their length in characters, the longest first, some thousands at a time."""
    by_length = sorted(range(len(texts)), key=lambda row: sum(map(len, texts[row])), reverse=True)
    return (by_length[start : start + TOGETHER] for start in range(0, len(by_length), TOGETHER))


def token_batches(inputs: dict[str, torch.Tensor]) -> Iterator[tuple[list[int], dict[str, torch.Tensor]]]:
    """Model inputs by their length in tokens, the longest first.

    Args:
        inputs: ``attention_mask`` and others, (N, L), padded at the right.

    Yields:
        the rows of a batch, and the inputs of these rows, (n, l), where the longest has l tokens.
    """
    lengths = inputs["attention_mask"].sum(dim=1)  # (N,)
    order, start = lengths.argsort(descending=True, stable=True), 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        rows = order[start : start + max(1, TOKENS[device().type] // longest)]
        yield rows.tolist(), {name: values[rows, :longest] for name, values in inputs.items()}
        start += len(rows)
