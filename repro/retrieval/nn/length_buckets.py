"""Texts encoded in groups of similar lengths, so that short ones are not padded to the longest of a batch.

The batch of a training, and so the loss and its gradient, stay the same; only what is drawn at random falls
otherwise.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import torch

from repro.retrieval.nn.precision import device
from repro.retrieval.nn.token_rows import TokenRows

Inputs = dict[str, torch.Tensor]


@dataclass
class Buckets:
    """The number of groups wanted, and whether anything has been encoded in several."""

    count: int = 1
    used: bool = False


_buckets: ContextVar[Buckets] = ContextVar("length buckets")


@contextlib.contextmanager
def length_buckets(count: int) -> Iterator[Buckets]:
    """Have ``in_buckets`` encode in so many groups here; 1 leaves the batch as it is."""
    token = _buckets.set(buckets := Buckets(count))
    try:
        yield buckets
    finally:
        _buckets.reset(token)


def in_buckets(encode: Callable[[Inputs], torch.Tensor | Inputs], inputs: Inputs) -> torch.Tensor | Inputs:
    """Encode ``inputs`` in groups of similar length and return the rows in their original order.

    Args:
        encode: model inputs of n texts, (n, l) each, to (n, …), or to several such by name; what it makes of
            a text depends on no other text and on no padding.
        inputs: (N, L), ``attention_mask`` among them, padded at the right.
    """
    buckets = _buckets.get(Buckets())
    groups = min(buckets.count, len(inputs["attention_mask"]))
    if groups == 1:
        return encode(inputs)
    buckets.used = True
    lengths = inputs["attention_mask"].sum(dim=1)  # (N,)
    order = lengths.argsort(stable=True)
    parts = []
    for rows in order.tensor_split(groups):
        longest = int(lengths[rows[-1]])
        parts.append(encode({name: values[rows, :longest] for name, values in inputs.items()}))
    inverse = order.argsort()
    if isinstance(parts[0], dict):
        return {name: torch.cat([part[name] for part in parts])[inverse] for name in parts[0]}
    return torch.cat(parts)[inverse]


def side_inputs(batch: Inputs, prefix: str) -> Inputs:
    """The model inputs whose names in the batch begin so, under the model's names for them."""
    return {name.removeprefix(prefix): rows for name, rows in batch.items() if name.startswith(prefix)}


TOGETHER = 2_000  # texts tokenised in one call, which uses all cores and little memory
TOKENS = {"cpu": 32 * 128, "cuda": 512 * 128}  # of a batch, with padding


def tokenised_together(texts: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Rows of (title, text) by their length in characters, the longest first, some thousands at a time."""
    by_length = sorted(range(len(texts)), key=lambda row: sum(map(len, texts[row])), reverse=True)
    return (by_length[start : start + TOGETHER] for start in range(0, len(by_length), TOGETHER))


def token_batches(rows: TokenRows) -> Iterator[tuple[list[int], Inputs]]:
    """Model inputs by their length in tokens, the longest first.

    Yields:
        the places of the texts of a batch, and their inputs, (n, l), where the longest has l tokens.
    """
    order, start = np.argsort(-rows.lengths, kind="stable"), 0
    while start < len(order):
        longest = max(1, int(rows.lengths[order[start]]))
        places = order[start : start + max(1, TOKENS[device().type] // longest)]
        yield places.tolist(), rows.inputs(places)
        start += len(places)
