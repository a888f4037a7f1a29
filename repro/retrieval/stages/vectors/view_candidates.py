"""The best passages of queries by products in float32, found block by block on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from repro.retrieval.stages.vectors.view_files import Views
from repro.retrieval.stages.vectors.view_products import Passages


class BestScores:
    """The greatest scores of each query so far, (t, K) in descending order, and their passages."""

    def __init__(self, queries: int, depth: int, device: torch.device):
        self.scores = torch.full((queries, depth), -torch.inf, device=device)
        self.rows = torch.zeros((queries, depth), dtype=torch.int64, device=device)

    def add(self, scores: torch.Tensor, first: int) -> None:
        """Take over what is greater than the last of them.

        Args:
            scores: (n, t), of the passages from row ``first`` on.
        """
        near, (queries, depth) = scores > self.scores[:, -1], self.scores.shape  # (n, t)
        total, counts = int(near.count_nonzero()), None
        if 0 < total <= queries * depth:
            rows, columns = near.nonzero(as_tuple=True)
            counts = columns.bincount(minlength=queries)
        if total and (counts is None or int(counts.max()) > depth):
            half = (
                len(scores) // 2
            )  # n is beyond the depth; after the first half, fewer of the second are greater
            self.add(scores[:half], first)
            self.add(scores[half:], first + half)
        elif total:
            self._merge(scores, rows, columns, counts, first)

    def _merge(self, scores, rows, columns, counts, first: int) -> None:
        """Take over the scores at these places, of which each query has so many."""
        order = columns.argsort(stable=True)
        rows, queries, device = rows[order], columns[order], scores.device
        slots = torch.arange(len(queries), device=device) - (counts.cumsum(0) - counts)[queries]
        shape = (len(counts), int(counts.max()))
        slot_scores = torch.full(shape, -torch.inf, device=device)
        passages = torch.zeros(shape, dtype=torch.int64, device=device)
        slot_scores[queries, slots] = scores[rows, queries]
        passages[queries, slots] = rows + first
        best = torch.cat((self.scores, slot_scores), dim=1).topk(self.scores.shape[1], dim=1)
        self.scores = best.values
        self.rows = torch.cat((self.rows, passages), dim=1).gather(1, best.indices)


def read_ahead(
    passages: Views, names: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> Iterator[Passages]:
    """Passages of each range, the next one read while the last is worked on."""
    read = partial(Passages.read, passages, names)
    with ThreadPoolExecutor(1) as thread:
        futures = [thread.submit(read, *bounds) for bounds in ranges[:1]]
        for number in range(len(ranges)):
            block = futures.pop().result()
            futures += [thread.submit(read, *bounds) for bounds in ranges[number + 1 : number + 2]]
            yield block
