"""Read dense and sparse vectors and their ids from disk, with only the requested rows in memory."""

from __future__ import annotations

import itertools
import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from repro.errors import DataError
from repro.machine.shard import blocks
from repro.store.disk import BLOCKS, intact, write_note

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 1 << 24  # bytes of ids scanned at a time
IDS = 10_000
Advance = Callable[[int], object]  # called with the number of finished queries


def _mapping(path: Path) -> Callable[[], np.ndarray]:
    """Return a function that maps an ``.npy`` file anew, as mapped pages stay in memory."""
    array = np.load(path, mmap_mode="r")
    # np.load fails in threads of Python 3.11
    return partial(np.memmap, path, array.dtype, "r", array.offset, array.shape)


class VectorFile:
    """``vectors.npy`` of a folder, mapped anew for each read."""

    def __init__(self, folder: Path):
        self.mapped = _mapping(folder / "vectors.npy")
        self.rows, self.width = self.mapped().shape

    def __len__(self) -> int:
        return self.rows

    def read(self, first: int, end: int) -> np.ndarray:
        """Read rows ``first`` to ``end``, (end - first, H) float32."""
        return self.mapped()[first:end].astype(np.float32)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Read the given rows, (K,) int64, in the type on disk."""
        return self.mapped()[rows]


class SparseFile:
    """The arrays of a sparse view in CSR format, mapped as in ``VectorFile``.

    ``bounds`` are the starts of the rows' values, (N + 1,) int64. ``width`` is V, the vocabulary's size.
    """

    def __init__(self, folder: Path, width: int):
        self.width, self.bounds = width, np.load(folder / "indptr.npy")
        self._maps = [_mapping(folder / f"{name}.npy") for name in ("values", "indices")]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def read(self, first: int, end: int) -> csr_array:
        return self._rows(self.bounds[first : end + 1], slice(self.bounds[first], self.bounds[end]))

    def at(self, rows: np.ndarray) -> csr_array:
        counts = self.bounds[rows + 1] - self.bounds[rows]
        ends = np.concatenate(([0], np.cumsum(counts)))
        return self._rows(ends, np.arange(ends[-1]) + np.repeat(self.bounds[rows] - ends[:-1], counts))

    def _rows(self, bounds: np.ndarray, entries: slice | np.ndarray) -> csr_array:
        from scipy.sparse import csr_array

        values, indices = (np.array(mapped()[entries]) for mapped in self._maps)
        bounds = (bounds - bounds[0]).astype(np.int64 if len(values) > 2**31 - 1 else np.int32)
        return csr_array((values, indices, bounds), shape=(len(bounds) - 1, self.width))


def write_ids(ids: Iterable[str], folder: Path, source: Path) -> None:
    """Write ``ids.txt``. Raises DataError for an empty id or one with white space."""
    names = iter(ids)
    with open(folder / "ids.txt", "w", encoding="utf-8") as file:
        while batch := list(itertools.islice(names, IDS)):
            lines = "\n".join(batch)
            if lines.split() != batch:
                name = next(name for name in batch if name.split() != [name])
                reason = f"the id {name!r} is empty or contains white space, which no run can contain"
                raise DataError(f"{source}: {reason}. Give that text another id")
            file.write(f"{lines}\n")


class IdFile:
    """``ids.txt``, memory-mapped. It takes 8 bytes of memory per id, 16 on opening."""

    def __init__(self, folder: Path):
        path = folder / "ids.txt"
        with open(path, "rb") as file:
            empty = path.stat().st_size == 0  # cannot be mapped
            self._text = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        ends = [np.array([-1])]
        for first in range(0, len(self._text), CHUNK):
            part = np.frombuffer(self._text[first : first + CHUNK], dtype=np.uint8)
            ends.append(np.flatnonzero(part == ord("\n")) + first)
        self._starts = np.concatenate(ends) + 1

    def __len__(self) -> int:
        return len(self._starts) - 1

    def at(self, rows: np.ndarray) -> list[str]:
        bounds = zip(self._starts[rows].tolist(), self._starts[rows + 1].tolist(), strict=True)
        return b"".join([self._text[start:end] for start, end in bounds]).decode().split("\n")[:-1]

    def ascending(self) -> np.ndarray:
        """Return the rows in UTF-8 order of ids, (N,) int64. Takes the longest id's bytes plus 16 per id."""
        longest = int(np.diff(self._starts).max(initial=1))
        ids = np.empty(len(self), dtype=f"S{longest}")
        for first in range(0, len(self), 100_000):
            rows = np.arange(first, min(first + 100_000, len(self)))
            ids[rows] = [name.encode() for name in self.at(rows)]
        return np.argsort(ids, kind="stable")


@dataclass(frozen=True)
class Views:
    """Vectors from ``encode`` or ``encode_views``. ``files`` are by view, e.g. "dense"."""

    folder: Path
    ids: IdFile
    files: Mapping[str, VectorFile | SparseFile]

    @classmethod
    def read(cls, folder: Path) -> Views:
        """Open an artefact. Raises DataError for different numbers of rows and ids."""
        ids, path = IdFile(folder), folder / "views.json"
        files: dict[str, VectorFile | SparseFile] = {}
        widths = json.loads(path.read_text()) if path.exists() else {"dense": True}
        if widths["dense"] is not None:
            files["dense"] = VectorFile(folder)
        if widths.get("sparse") is not None:
            files["sparse"] = SparseFile(folder, widths["sparse"])
        for rows in files.values():
            if len(rows) != len(ids):
                raise DataError(f"{folder}: {len(rows)} vectors, but {len(ids)} ids")
        return cls(folder, ids, files)

    def __len__(self) -> int:
        return len(self.ids)

    def sparse_bounds(self) -> np.ndarray:
        """Return the starts of the rows' sparse values, (N + 1,) int64, zeros without a sparse view."""
        file = self.files.get("sparse")
        return file.bounds if isinstance(file, SparseFile) else np.zeros(len(self) + 1, np.int64)


def in_shares(advance: Advance, queries: int, passages: int) -> Callable[[int], None]:
    """Return a function that converts a number of searched passages to progress in queries."""
    total, lock = 0, Lock()

    def report(count: int) -> None:
        nonlocal total
        with lock:
            before, total = total, total + count
            advance(queries * total // passages - queries * before // passages)

    return report


@dataclass(frozen=True)
class Pairs:
    """Scored pairs: ``queries`` and ``rows``, (P,) int64, ``scores``, (P,) float32."""

    queries: np.ndarray
    rows: np.ndarray
    scores: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        arrays = ([getattr(part, name) for part in parts] for name in ("queries", "rows", "scores"))
        return cls(*(np.concatenate(array) for array in arrays))

    def of(self, chosen: np.ndarray) -> Pairs:
        return Pairs(self.queries[chosen], self.rows[chosen], self.scores[chosen])

    def cut(self, depth: int, places: np.ndarray) -> Pairs:
        """Return each query's best ``depth`` pairs. Ties go to the greatest of ``places``, (N,)."""
        order = self._ascending(places[self.rows])
        counts = np.bincount(self.queries, minlength=1)
        ranks = np.repeat(np.cumsum(counts), counts) - np.arange(len(order))  # 1 for the best
        return self.of(order[ranks <= depth])

    def edges(self, depth: int, queries: int) -> np.ndarray:
        """Return each query's score at rank ``depth``, or minus infinity, (Q,) for Q ``queries``."""
        order = self._ascending()
        counts = np.bincount(self.queries, minlength=queries)
        edges = np.full(queries, -np.inf, np.float32)
        enough = counts >= depth
        edges[enough] = self.scores[order[np.cumsum(counts)[enough] - depth]]
        return edges

    def _ascending(self, places: np.ndarray | int = 0) -> np.ndarray:
        bits = (self.scores + np.float32(0)).view(np.uint32)  # 0 and -0 are equal
        scores = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
        order = np.argsort(scores << np.uint64(32) | np.asarray(places).astype(np.uint64))
        queries = self.queries[order].astype(np.min_scalar_type(int(self.queries.max(initial=0))))
        return order[np.argsort(queries, kind="stable")]


@dataclass(frozen=True)
class RunBlocks:
    """The blocks of a run, ``size`` queries each."""

    out: Path
    queries: int
    size: int

    def fill(self, search: Callable[[int, int], Pairs], advance: Advance) -> int | None:
        """Search the blocks of this shard that are missing or changed, e.g. by ``ViewSearch.block``.

        Returns the first searched query if earlier blocks were kept, otherwise None.
        """
        (self.out / BLOCKS).mkdir(exist_ok=True)
        earliest = self.queries
        for first in blocks(self.queries, self.size):
            end = min(first + self.size, self.queries)
            path = self._path(first)
            note = path.with_suffix(".json")
            if intact(note) is not None:
                advance(end - first)
                continue
            earliest = min(earliest, first)
            pairs = search(first, end)
            np.savez(path, queries=pairs.queries.astype(np.int32), rows=pairs.rows, scores=pairs.scores)
            write_note(note, [path])
        return earliest or None

    def _path(self, first: int) -> Path:
        return self.out / BLOCKS / f"{first}.npz"

    def ranked(self, topics: IdFile, documents: IdFile) -> Iterator[tuple[str, list[str], np.ndarray]]:
        """Yield (query id, document ids, scores), documents unordered, with one block in memory at a time."""
        for first in range(0, self.queries, self.size):
            with np.load(self._path(first)) as block:
                pairs = Pairs(*(block[name] for name in ("queries", "rows", "scores")))
            end = min(first + self.size, self.queries)
            pairs = pairs.of(np.argsort(pairs.queries, kind="stable"))
            bounds = np.searchsorted(pairs.queries, np.arange(end - first + 1))
            for number, topic in enumerate(topics.at(np.arange(first, end))):
                part = slice(bounds[number], bounds[number + 1])
                yield topic, documents.at(pairs.rows[part][::-1]), pairs.scores[part][::-1]
