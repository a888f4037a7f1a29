"""Scored pairs of queries and passages, and the best of each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pairs:
    """Scored pairs of queries and passages, in no order.

    Attributes:
        queries, rows: (P,) int64.
        scores: (P,) float32.
    """

    queries: np.ndarray
    rows: np.ndarray
    scores: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        arrays = ([getattr(part, name) for part in parts] for name in ("queries", "rows", "scores"))
        return cls(*(np.concatenate(array) for array in arrays))

    def of(self, chosen: np.ndarray) -> Pairs:
        """The pairs of a mask, or in an order."""
        return Pairs(self.queries[chosen], self.rows[chosen], self.scores[chosen])

    def cut(self, depth: int, places: np.ndarray) -> Pairs:
        """The ``depth`` best pairs of every query, by query; of equal scores those in the greatest places.

        Args:
            places: (N,), of each passage among all ids in ascending order.
        """
        order = np.lexsort((places[self.rows], self.scores, self.queries))
        counts = np.bincount(self.queries, minlength=1)
        ranks = np.repeat(np.cumsum(counts), counts) - np.arange(len(order))  # 1 for the best
        return self.of(order[ranks <= depth])

    def edges(self, depth: int, queries: int) -> np.ndarray:
        """The score in place ``depth`` of each query, (Q,); minus infinity where it has not so many."""
        order = np.lexsort((self.scores, self.queries))
        counts = np.bincount(self.queries, minlength=queries)
        edges = np.full(queries, -np.inf, np.float32)
        enough = counts >= depth
        edges[enough] = self.scores[order[np.cumsum(counts)[enough] - depth]]
        return edges
