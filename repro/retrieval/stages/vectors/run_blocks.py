"""Finished blocks of a search's queries, kept until the store seals the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from repro.machine.shard import blocks
from repro.retrieval.stages.vectors.pairs import Pairs
from repro.retrieval.stages.vectors.vector_files import IdFile
from repro.store.disk import BLOCKS, sha256

Advance = Callable[[int], object]  # told of finished queries


def in_shares(advance: Advance, queries: int, passages: int) -> Callable[[int], None]:
    """A function to be told how many passages were searched; it tells of as large a share of the queries."""
    total = 0

    def report(end: int) -> None:
        nonlocal total
        advance(queries * end // passages - total)
        total = queries * end // passages

    return report


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
        """The first query of each block."""
        return range(0, self.queries, self.size)

    def _path(self, first: int) -> Path:
        return self.out / BLOCKS / f"{first}.npz"

    def _digest(self, first: int) -> Path:
        """The file with the digest of a block, written last."""
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
