"""The best passages of queries by products in float32, found block by block on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from repro.stages.vectors.view_files import Views
from repro.stages.vectors.view_products import Passages


class Best:
    """The greatest scores of each query so far, (t, K) in descending order, and their passages."""

    def __init__(self, queries: int, depth: int, where: torch.device):
        self.scores = torch.full((queries, depth), -torch.inf, device=where)
        self.rows = torch.zeros((queries, depth), dtype=torch.int64, device=where)

    def add(self, scores: torch.Tensor, first: int) -> None:
        """Take over what is greater than the last of them.

        Args:
            scores: (n, t), of the passages from row ``first`` on.
        """
        near = scores > self.scores[:, -1]  # (n, t)
        counts = near.sum(dim=0)
        most = int(counts.max())
        if most > self.scores.shape[1]:  # so n is, too; after the first half, fewer of the second are greater
            half = len(scores) // 2
            self.add(scores[:half], first)
            self.add(scores[half:], first + half)
        elif most:
            self._merge(scores, near, counts, first)

    def _merge(self, scores: torch.Tensor, near: torch.Tensor, counts: torch.Tensor, first: int) -> None:
        queries, places = near.T.nonzero(as_tuple=True)  # by query
        slots = torch.arange(len(queries), device=scores.device) - (counts.cumsum(0) - counts)[queries]
        wide = (len(counts), int(counts.max()))
        theirs = torch.full(wide, -torch.inf, device=scores.device)
        rows = torch.zeros(wide, dtype=torch.int64, device=scores.device)
        theirs[queries, slots] = scores[places, queries]
        rows[queries, slots] = places + first
        best = torch.cat((self.scores, theirs), dim=1).topk(self.scores.shape[1], dim=1)
        self.scores = best.values
        self.rows = torch.cat((self.rows, rows), dim=1).gather(1, best.indices)


def read_ahead(
    passages: Views, names: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> Iterator[Passages]:
    """Passages of each range, the next one read while the last is worked on."""
    read = partial(Passages.read, passages, names)
    with ThreadPoolExecutor(1) as thread:
        coming = [thread.submit(read, *some) for some in ranges[:1]]
        for number in range(len(ranges)):
            block = coming.pop().result()
            coming += [thread.submit(read, *some) for some in ranges[number + 1 : number + 2]]
            yield block
