"""Random choices that stay the same across Python versions.

Only ``random.Random.random`` is promised to keep its sequence; ``choice``, ``sample`` and ``shuffle`` are
not, so they are built here on top of it.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A seeded source of choices; equal seeds give equal sequences."""

    def __init__(self, seed: str):
        self._next = random.Random(seed).random

    def below(self, n: int) -> int:
        """An integer in 0..n-1."""
        return int(self._next() * n)

    def pick(self, items: Sequence[T]) -> T:
        """One of ``items``."""
        return items[self.below(len(items))]

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._next() < probability

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """``k`` of ``items`` without repetition, in random order (Fisher-Yates, stopped early)."""
        pool = list(items)
        for i in range(k):
            j = i + self.below(len(pool) - i)
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]
