"""Batches cut into parts: a part is what ``collate`` makes of some of the examples."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch

Batch = dict[str, torch.Tensor]


class Parts:
    """Collates examples in parts, whose size may become smaller while a training runs.

    The size lies in memory that is shared with the processes which make batches.

    Args:
        size: examples of a part; None for all of them.
        buckets: see ``collated_in_parts``.
    """

    def __init__(self, collate: Callable[[list[dict]], Batch], *, size: int | None, buckets: int = 1):
        self.collate, self.buckets = collate, buckets
        self._size = torch.tensor(size or 0).share_memory_()

    @property
    def size(self) -> int | None:
        return int(self._size) or None

    @size.setter
    def size(self, size: int | None) -> None:
        self._size.fill_(size or 0)

    def __call__(self, examples: list[dict]) -> list[Batch]:
        return collated_in_parts(self.collate, examples, size=self.size, buckets=self.buckets)

    def count(self, examples: int) -> int:
        """The number of parts that so many examples are cut into."""
        return _count(examples, size=self.size or examples, buckets=self.buckets)


def are_texts(examples: list[dict]) -> bool:
    """Whether examples are one text each, read whole: ``input_ids``, no ``spans`` to draw texts from."""
    return all("input_ids" in example and "spans" not in example for example in examples)


def collated_in_parts(
    collate: Callable[[list[dict]], Batch], examples: list[dict], *, size: int | None, buckets: int = 1
) -> list[Batch]:
    """Batches of ``size`` examples each, the last one of what is left; one batch of all without a size.

    With ``buckets``, texts (see ``are_texts``) go by their lengths into at least so many batches, as far as
    there are texts, so that fewer tokens are padding.
    """
    size = size or len(examples)
    if buckets > 1:
        examples = sorted(examples, key=lambda example: len(example["input_ids"]))
        parts = _count(len(examples), size=size, buckets=buckets)
        ends = [len(examples) * part // parts for part in range(parts + 1)]
        return [collate(examples[first:end]) for first, end in pairwise(ends)]
    return [collate(examples[first : first + size]) for first in range(0, len(examples), size)]


def _count(examples: int, *, size: int, buckets: int) -> int:
    return min(max(buckets, math.ceil(examples / size)), examples)
