"""A hot path of ours and the same work by another, as records and figures have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

BEFORE = "before"  # the other is an earlier version of the same path


@dataclass(frozen=True)
class Beside:
    """The cost of a path and of another, a number of each for every round, in which they took turns.

    Attributes:
        path: the work, "encoding SciFact".
        other: a peer and how it was set, or ``BEFORE``.
        of: what the numbers count, "CPU seconds"; less is better.
        ours, theirs: one for each round, in the order in which they were taken.
        memory: the bytes of ours and of theirs at their peak, where they were counted.
    """

    path: str
    other: str
    of: str
    ours: Sequence[float]
    theirs: Sequence[float]
    memory: Sequence[float] | None = None

    @property
    def ratios(self) -> list[float]:
        """Ours over theirs in each round, in rising order."""
        return sorted(mine / other for mine, other in zip(self.ours, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def memory_ratio(self) -> float | None:
        return self.memory[0] / self.memory[1] if self.memory else None
