"""Select the share of a stage's blocks for this process, e.g. ``3/8``."""

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
    """Every ``count``-th block of a stage, from block ``number`` (from 1)."""

    number: int = 1
    count: int = 1

    @property
    def whole(self) -> bool:
        return self.count == 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read a shard such as ``3/8``. Raises UsageError."""
        numbers = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if numbers and 1 <= int(numbers[1]) <= int(numbers[2]):
            return cls(int(numbers[1]), int(numbers[2]))
        raise UsageError(f"--shard is {text!r}. Give its number and their count, e.g. 1/8.")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


WHOLE = Shard()
_current = WHOLE


def shard() -> Shard:
    return _current


@contextlib.contextmanager
def only_shard(part: Shard) -> Iterator[None]:
    """Restrict stages to the blocks of one shard until the block of code ends."""
    global _current
    previous, _current = _current, part
    try:
        yield
    finally:
        _current = previous


def blocks(count: int, block: int, *, rank: int = 0, ranks: int = 1) -> range:
    """Return the first row of each of this process' blocks of ``block`` rows, among ``count`` rows.

    ``ranks`` processes share the shard.
    """
    first = (_current.number - 1) * ranks + rank
    return range(0, count, block)[first :: _current.count * ranks]


def own_blocks(items: Sequence[T]) -> Sequence[T]:
    return items[_current.number - 1 :: _current.count]


def share(count: int, block: int, *, ranks: int = 1) -> int:
    """Return the number of this shard's rows that the first of ``ranks`` processes takes."""
    return sum(min(block, count - first) for first in blocks(count, block, ranks=ranks))
