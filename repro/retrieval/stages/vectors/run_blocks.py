"""Scored pairs of queries and passages, and finished blocks of them, kept until the store seals the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from repro.machine.shard import blocks
from repro.retrieval.stages.vectors import IdFile
from repro.store.disk import BLOCKS, sha256

Advance = Callable[[int], object]  # called with the number of finished queries


def in_shares(advance: Advance, queries: int, passages: int) -> Callable[[int], None]:
    """Return a function of the passages searched so far that advances by as large a share of the queries."""
    total = 0

    def report(end: int) -> None:
        nonlocal total
        advance(queries * end // passages - total)
        total = queries * end // passages

    return report


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
        """Put pairs one behind the other."""
        arrays = ([getattr(part, name) for part in parts] for name in ("queries", "rows", "scores"))
        return cls(*(np.concatenate(array) for array in arrays))

    def of(self, chosen: np.ndarray) -> Pairs:
        """Return the pairs of a mask, or in an order."""
        return Pairs(self.queries[chosen], self.rows[chosen], self.scores[chosen])

    def cut(self, depth: int, places: np.ndarray) -> Pairs:
        """Return each query's ``depth`` best pairs, by query; of equal scores those in the greatest places.

        Args:
            places: (N,), of each passage among all ids in ascending order.
        """
        order = self._ascending(places[self.rows])
        counts = np.bincount(self.queries, minlength=1)
        ranks = np.repeat(np.cumsum(counts), counts) - np.arange(len(order))  # 1 for the best
        return self.of(order[ranks <= depth])

    def edges(self, depth: int, queries: int) -> np.ndarray:
        """Return each query's score in place ``depth``, (Q,); minus infinity where it has not so many."""
        order = self._ascending()
        counts = np.bincount(self.queries, minlength=queries)
        edges = np.full(queries, -np.inf, np.float32)
        enough = counts >= depth
        edges[enough] = self.scores[order[np.cumsum(counts)[enough] - depth]]
        return edges

    def _ascending(self, places: np.ndarray | int = 0) -> np.ndarray:
        """Order pairs by query, score and place; whole numbers that sort as these are sorted fastest."""
        bits = (self.scores + np.float32(0)).view(np.uint32)  # 0 and -0 are equal
        scores = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
        order = np.argsort(scores << np.uint64(32) | np.asarray(places).astype(np.uint64))
        queries = self.queries[order].astype(np.min_scalar_type(int(self.queries.max(initial=0))))
        return order[np.argsort(queries, kind="stable")]


@dataclass(frozen=True)
class RunBlocks:
    """The blocks of a run; which queries belong to which depends on their number alone.

    Attributes:
        out: where the stage writes.
        queries: their number.
        size: queries of a block.
    """

    out: Path
    queries: int
    size: int

    def fill(self, search: Callable[[int, int], Pairs], advance: Advance) -> int | None:
        """Search for the blocks of this shard that no earlier attempt has finished, or that changed since.

        Args:
            search: from the first query of a block and its end to its best pairs, queries numbered from 0.
            advance: told of the queries of each block that is kept.

        Returns:
            the first query that was searched for, where blocks before it were kept; else None.
        """
        (self.out / BLOCKS).mkdir(exist_ok=True)
        earliest = self.queries
        for first in blocks(self.queries, self.size):
            end = min(first + self.size, self.queries)
            if self._is_kept(first):
                advance(end - first)
                continue
            earliest = min(earliest, first)
            self._save(first, search(first, end))
        return earliest or None

    def firsts(self) -> range:
        """Return the first query of each block."""
        return range(0, self.queries, self.size)

    def _path(self, first: int) -> Path:
        return self.out / BLOCKS / f"{first}.npz"

    def _digest(self, first: int) -> Path:
        """Return the file with the digest of a block, which is written last."""
        return self.out / BLOCKS / f"{first}.sha256"

    def _is_kept(self, first: int) -> bool:
        path, digest = self._path(first), self._digest(first)
        return path.exists() and digest.exists() and digest.read_text() == sha256(path)

    def _save(self, first: int, pairs: Pairs) -> None:
        draft = self._path(first).with_suffix(".unfinished.npz")
        np.savez(draft, queries=pairs.queries.astype(np.int32), rows=pairs.rows, scores=pairs.scores)
        draft.replace(self._path(first))
        self._digest(first).write_text(sha256(self._path(first)))

    def ranked(self, topics: IdFile, documents: IdFile) -> Iterator[tuple[str, list[str], np.ndarray]]:
        """Yield each query's documents with their scores, in no order, one block in memory at a time."""
        for first in self.firsts():
            with np.load(self._path(first)) as block:
                pairs = Pairs(*(block[name] for name in ("queries", "rows", "scores")))
            end = min(first + self.size, self.queries)
            pairs = pairs.of(np.argsort(pairs.queries, kind="stable"))
            bounds = np.searchsorted(pairs.queries, np.arange(end - first + 1))
            for number, topic in enumerate(topics.at(np.arange(first, end))):
                part = slice(bounds[number], bounds[number + 1])
                yield topic, documents.at(pairs.rows[part]), pairs.scores[part]
