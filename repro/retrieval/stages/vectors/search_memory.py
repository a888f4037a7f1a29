"""Limit the memory of a search and divide the search to fit, e.g. with REPRO_SEARCH_MEMORY=8GB."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import psutil

from repro.errors import UsageError
from repro.machine.system import bytes_of
from repro.retrieval.stages.vectors import Views, products

VARIABLE = "REPRO_SEARCH_MEMORY"
LEAST = 2**26
V2 = ("memory.max", "memory.current", "active_file", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file")
BLOCK_BYTES = 1 << 30  # of passages and their scores
TILE = 2048  # queries multiplied at once
PAIR = 32  # bytes of scores per passage and query
NUMBER = 16  # bytes per dense number: two blocks, and float64
VALUE = 32  # bytes per sparse value, with its index
CANDIDATE = 152  # bytes per candidate of a query
RANK = 40  # bytes per rank, twice while groups are joined


def search_memory() -> int:
    """Return the bytes for a search: REPRO_SEARCH_MEMORY, or half of the free memory, at least 64 MiB.

    Raises UsageError if the variable is not a positive size.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting:
        return max(LEAST, free_memory() // 2)
    if size := bytes_of(setting):
        return size
    raise UsageError(f"{VARIABLE} is {setting!r}, not a size, e.g. 800MB or 1.5GiB")


def free_memory() -> int:
    """Return the bytes free without swapping or exceeding a container's limit."""
    amounts = (_free_bytes(folder, names) for folder, names in _control_groups())
    return min([psutil.virtual_memory().available, *(bytes_ for bytes_ in amounts if bytes_ is not None)])


def _control_groups() -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in (_text("/proc/self/cgroup") or "0::/").splitlines():
        _, kinds, path = line.split(":", 2)
        if not kinds or "memory" in kinds.split(","):
            mount, names = ("/sys/fs/cgroup/memory", V1) if kinds else ("/sys/fs/cgroup", V2)
            for group in (PurePosixPath(path), *PurePosixPath(path).parents):
                yield f"{mount}{group}".rstrip("/"), names


def _free_bytes(folder: str, names: tuple[str, ...]) -> int | None:
    limit, usage = (_text(f"{folder}/{name}").strip() for name in names[:2])
    if not (limit.isdecimal() and usage.isdecimal()):  # e.g. "max"
        return None
    stat = dict(re.findall(r"^(\w+) (\d+)$", _text(f"{folder}/memory.stat"), re.MULTILINE))
    cache = sum(int(stat.get(name, 0)) for name in names[2:])
    return max(0, int(limit) - max(0, int(usage) - cache))


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


@dataclass(frozen=True)
class Sizes:
    """``group`` queries stay on the device, ``tile`` are multiplied at once with a range of passages."""

    group: int
    tile: int
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MemoryNeeds:
    """The memory needs of a search.

    Attributes:
        dense, sparse: widths of the views, 0 if unused.
        values: most sparse values of a query.
        candidates: number per query, over all lists.
        ranked: number of results kept for a block of queries.
        inverted: whether ``uses_inverted_index``.
    """

    queries: int
    dense: int
    sparse: int
    values: int
    bounds: np.ndarray
    candidates: int
    ranked: int
    inverted: bool

    @classmethod
    def of(cls, passages: Views, queries: Views, terms: Sequence[str], **needs: Any) -> MemoryNeeds:
        """Return the needs of a search. ``needs`` are the last three attributes."""
        widths = {view: passages.files[view].width for view in terms}
        dense, sparse = widths.get("dense", 0), widths.get("sparse", 0)
        bounds = passages.sparse_bounds() if sparse else np.zeros(len(passages) + 1, np.int64)
        values = int(np.diff(queries.sparse_bounds()).max(initial=0)) if sparse else 0
        return cls(len(queries), dense, sparse, values, bounds, **needs)

    def sizes(self, memory: int) -> Sizes:
        """Divide the search to fit into ``memory`` bytes. Raises UsageError if impossible."""
        columns = 0 if self.inverted else 5 * self.sparse
        query = CANDIDATE * self.candidates + 20 * self.dense + 24 * self.values + columns
        rankings = RANK * self.ranked
        heaviest = self._dense() + VALUE * int(np.diff(self.bounds).max(initial=0)) + PAIR
        least = rankings + 2 * max(query, heaviest)
        if memory < least:
            message = f"{memory} bytes are too few for the rankings with one query and one passage"
            raise UsageError(f"{message}. Set {VARIABLE} to at least {least}")
        half = (memory - rankings) // 2
        block = min(BLOCK_BYTES, half)
        group = max(1, min(self.queries, half // query))
        tile = max(1, min(TILE, group, (block - heaviest) // PAIR))
        return Sizes(group, tile, tuple(self._ranges(tile, block)))

    def _dense(self) -> int:
        return NUMBER * self.dense + (12 * min(products.FREQUENT, self.sparse) if self.inverted else 0)

    def _ranges(self, tile: int, memory: int) -> Iterator[tuple[int, int]]:
        count, per_passage = len(self.bounds) - 1, PAIR * tile + self._dense()

        def size(first: int, end: int) -> int:
            return per_passage * (end - first) + VALUE * int(self.bounds[end] - self.bounds[first])

        end = 0
        while (first := end) < count:
            number = bisect_right(range(first + 1, count + 1), memory, key=partial(size, first))
            end = first + max(1, number)
            yield first, end
