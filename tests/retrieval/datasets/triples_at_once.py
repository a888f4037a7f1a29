"""Negatives sampled from triples the plain way: a heap for every query, all in memory."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from repro.retrieval.datasets.negative_files import Triple


@dataclass
class Negatives:
    """One query's relevant documents in the order of the triples, and a sample of the irrelevant ones."""

    positives: dict[str, None] = field(default_factory=dict)
    kept: list[tuple[bytes, str]] = field(default_factory=list)

    def sample(self, *, without_positives: bool) -> list[str]:
        """The sampled negatives in random order, with or without those that another row calls relevant."""
        drawn = [document for _, document in sorted(self.kept, reverse=True)]
        return [d for d in drawn if d not in self.positives] if without_positives else drawn


def sampled(rows: Iterable[Triple], *, per_query: int, seed: int) -> dict[str, Negatives]:
    """Sample ``per_query`` negatives for each query: those with the largest keyed hash of both."""
    samples: dict[str, Negatives] = {}
    key = f"{seed}".encode()
    for query, positive, negative in rows:
        entry = samples.get(query)
        if entry is None:
            entry = samples[query] = Negatives()
        entry.positives[positive] = None
        rank = blake2b(f"{query}\0{negative}".encode(), digest_size=8, key=key).digest()
        kept = entry.kept  # a heap: its first entry is the one to give way
        full = len(kept) == per_query
        if (full and rank < kept[0][0]) or (rank, negative) in kept:
            continue
        if full:
            heapq.heapreplace(kept, (rank, negative))
        else:
            heapq.heappush(kept, (rank, negative))
    return samples
