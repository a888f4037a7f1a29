"""Numbers of queries and passages that a search over views holds at a time, within its memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from repro.errors import UsageError
from repro.retrieval.stages.vectors.search_memory import VARIABLE
from repro.retrieval.stages.vectors.view_files import Views
from repro.retrieval.stages.vectors.view_products import FREQUENT

BLOCK_BYTES = 1 << 30  # of passages and their scores; more at once is not faster
TILE = 2048  # queries multiplied at once
PAIR = 32  # bytes of a passage's scores for one query: by view, their sums, what of them is kept
NUMBER = 16  # bytes of a passage's dense number: it, that of the block read ahead, and in float64
VALUE = 32  # bytes of its sparse value, likewise, with its index
CANDIDATE = 152  # bytes of a query's candidate: 12 as it is kept, the rest while it is merged or scored
RANK = 40  # bytes of a rank of the run: query, passage and score, and again while groups are joined


@dataclass(frozen=True)
class Sizes:
    """The parts of a search that are held at a time.

    Attributes:
        group: queries kept on the device for all passages.
        tile: of those, queries multiplied at once.
        ranges: of passages.
    """

    group: int
    tile: int
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MemoryNeeds:
    """The bytes that a search needs to hold.

    Attributes:
        terms: the views.
        candidates: of a query, over all lists.
        ranked: ranks of a block of queries that the run will have.
        inverted: whether sparse queries are kept as an inverted index, or else as columns of a full matrix.
    """

    passages: Views
    queries: Views
    terms: Sequence[str]
    candidates: int
    ranked: int
    inverted: bool

    def sizes(self, memory: int) -> Sizes:
        """Sizes within ``memory`` bytes.

        Raises:
            UsageError: it does not hold the rankings, a query and the passage with most values.
        """
        rankings, query, count = RANK * self.ranked, self._query(), len(self.queries)
        heaviest = self._heaviest() + PAIR
        least = rankings + 2 * max(query, heaviest)
        if memory < least:
            message = f"{memory} bytes do not hold the rankings with one query and one passage"
            raise UsageError(f"{message}; set {VARIABLE} to at least {least}")
        half = (memory - rankings) // 2
        block = min(BLOCK_BYTES, half)
        group = max(1, min(count, half // query))
        tile = max(1, min(TILE, group, (block - heaviest) // PAIR))
        return Sizes(group, tile, tuple(self._ranges(tile, block)))

    def _query(self) -> int:
        """Bytes of a query: for its second scoring, on the device, and an eighth of that in float64."""
        bytes_ = CANDIDATE * self.candidates
        if "dense" in self.terms:
            bytes_ += 12 * self.queries.widths["dense"]
        if "sparse" in self.terms:
            bytes_ += 24 * int(np.diff(self.queries.indptr).max(initial=0))
            bytes_ += 0 if self.inverted else 5 * self.queries.widths["sparse"]
        return bytes_

    def _dense(self) -> int:
        """Bytes of a passage's dense vector, and of its values of words that are multiplied as if dense."""
        bytes_ = NUMBER * self.passages.widths["dense"] if "dense" in self.terms else 0
        if self.inverted and "sparse" in self.terms:
            bytes_ += 12 * min(FREQUENT, self.passages.widths["sparse"])
        return bytes_

    def _heaviest(self) -> int:
        heaviest = self._dense()
        if "sparse" in self.terms:
            heaviest += VALUE * int(np.diff(self.passages.indptr).max(initial=0))
        return heaviest

    def _ranges(self, tile: int, memory: int):
        """Yield ranges of passages, of one at least, that fit into the memory with a tile's scores."""
        count, per_passage, bounds = len(self.passages), PAIR * tile + self._dense(), self.passages.indptr

        def size(first: int, end: int) -> int:
            values = int(bounds[end] - bounds[first]) if "sparse" in self.terms else 0
            return per_passage * (end - first) + VALUE * values

        end = 0
        while (first := end) < count:
            number = bisect_right(range(first + 1, count + 1), memory, key=partial(size, first))
            end = first + max(1, number)
            yield first, end


def device_memory(device: torch.device) -> float:
    """Bytes that are free on a GPU, less a tenth that PyTorch may hold back; no limit without one."""
    return 0.9 * torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else float("inf")
