"""The share of a stage's blocks that this process was started for."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from repro.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Every ``count``-th block of a stage, from the ``number``-th on, which is 1 for the first."""

    number: int = 1
    count: int = 1

    @property
    def whole(self) -> bool:
        """Whether all blocks are in it, and so what is made of them."""
        return self.count == 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return a shard from ``3/8``. Raises UsageError for anything else."""
        numbers = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if numbers and 1 <= int(numbers[1]) <= int(numbers[2]):
            return cls(int(numbers[1]), int(numbers[2]))
        raise UsageError(f"--shard is {text!r}; give its number and how many there are, 1/8 to 8/8 say")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


WHOLE = Shard()
_current = WHOLE


def shard() -> Shard:
    """Return the shard that this process fills; the whole unless ``only_shard`` says otherwise."""
    return _current


@contextlib.contextmanager
def only_shard(part: Shard) -> Iterator[None]:
    """Have stages fill the blocks of one shard, and leave to others what is made of all blocks."""
    global _current
    previous, _current = _current, part
    try:
        yield
    finally:
        _current = previous


def blocks(count: int, block: int, *, rank: int = 0, ranks: int = 1) -> range:
    """Return the first rows of this process' blocks among ``count`` rows, by ``rank`` of ``ranks``."""
    first = (_current.number - 1) * ranks + rank
    return range(0, count, block)[first :: _current.count * ranks]


def own_blocks(items: Sequence[T]) -> Sequence[T]:
    """Return the blocks of a stage, among ``items``, that are this shard's."""
    return items[_current.number - 1 :: _current.count]


def share(count: int, block: int, *, ranks: int = 1) -> int:
    """Return the number of rows in the blocks of the first of ``ranks`` processes of this shard."""
    return sum(min(block, count - first) for first in blocks(count, block, ranks=ranks))
