"""Dense and sparse vectors and their ids on disk, of which only the rows asked for are held in memory."""

from __future__ import annotations

import itertools
import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from repro.errors import DataError
from repro.machine.shard import blocks
from repro.store.disk import BLOCKS, intact, write_note

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CHUNK = 1 << 24  # bytes of ids looked through at a time
IDS = 10_000  # ids written at a time
Advance = Callable[[int], object]  # called with the number of finished queries


class VectorFile:
    """``vectors.npy`` of an embeddings folder, read block by block.

    The file is mapped for the time of one read: a mapping that stays counts as resident for every page
    touched, which is the whole file in the end.

    Raises:
        DataError: the folder has no such array.
    """

    def __init__(self, folder: Path):
        self.path = folder / "vectors.npy"
        shape = self.mapped().shape
        if len(shape) != 2:
            raise DataError(f"{self.path}: an array of shape {shape}, not (texts, dimensions)")
        self.rows, self.width = shape

    def __len__(self) -> int:
        return self.rows

    def mapped(self) -> np.ndarray:
        """Map the array, (N, H) float32 or float16, from disk."""
        try:
            return np.load(self.path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path}: not an array of vectors ({error}); encode again") from error

    def read(self, first: int, end: int) -> np.ndarray:
        """Read rows ``first`` to ``end``, (end - first, H) float32; numbers of float16 are widened."""
        return self.mapped()[first:end].astype(np.float32)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Read these rows, (K,) int64, as they are on disk."""
        return self.mapped()[rows]


class SparseFile:
    """``indptr.npy``, ``indices.npy`` and ``values.npy`` of a folder of views, mapped as ``VectorFile`` is.

    Attributes:
        bounds: (N + 1,) int64, where the values of each row begin.
        width: V, the size of the vocabulary.
    """

    def __init__(self, folder: Path, width: int):
        self.folder, self.width = folder, width
        self.bounds = np.load(folder / "indptr.npy")

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def read(self, first: int, end: int) -> csr_array:
        """Read rows ``first`` to ``end``, (end - first, V) float32, with the values that are not 0."""
        return self._rows(self.bounds[first : end + 1], slice(self.bounds[first], self.bounds[end]))

    def at(self, rows: np.ndarray) -> csr_array:
        """Read these rows, (K,) int64, as ``read`` does."""
        counts = self.bounds[rows + 1] - self.bounds[rows]
        ends = np.concatenate(([0], np.cumsum(counts)))
        return self._rows(ends, np.arange(ends[-1]) + np.repeat(self.bounds[rows] - ends[:-1], counts))

    def _rows(self, bounds: np.ndarray, entries: slice | np.ndarray) -> csr_array:
        from scipy.sparse import csr_array

        arrays = (np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in ("values", "indices"))
        values, indices = (np.array(array[entries]) for array in arrays)
        bounds = (bounds - bounds[0]).astype(np.int64 if len(values) > 2**31 - 1 else np.int32)
        return csr_array((values, indices, bounds), shape=(len(bounds) - 1, self.width))


def write_ids(ids: Iterable[str], folder: Path, source: Path) -> None:
    """Write ``ids.txt``. Raises DataError for an id that no line can hold."""
    names = iter(ids)
    with open(folder / "ids.txt", "w", encoding="utf-8") as file:
        while batch := list(itertools.islice(names, IDS)):
            lines = "\n".join(batch)
            if lines.split() != batch:
                name = next(name for name in batch if name.split() != [name])
                reason = f"the id {name!r} is empty or has white space in it, and a run could not hold it"
                raise DataError(f"{source}: {reason}; give that text another id")
            file.write(f"{lines}\n")


class IdFile:
    """``ids.txt``, one id a line, read where it is asked for: 8 bytes an id in memory instead of a string.

    While it is opened 16 bytes an id. The file is mapped: pages of it that were read count as resident and
    can be taken back at any time.
    """

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
        """Return the ids of these rows, (K,) int64."""
        bounds = zip(self._starts[rows].tolist(), self._starts[rows + 1].tolist(), strict=True)
        return [self._text[start : end - 1].decode("utf-8") for start, end in bounds]

    def ascending(self) -> np.ndarray:
        """Return the rows in the order of their ids in UTF-8, (N,) int64; takes the longest id and 16 bytes
        for each."""
        longest = int(np.diff(self._starts).max(initial=1))
        ids = np.empty(len(self), dtype=f"S{longest}")
        for first in range(0, len(self), 100_000):
            rows = np.arange(first, min(first + 100_000, len(self)))
            ids[rows] = [name.encode() for name in self.at(rows)]
        return np.argsort(ids, kind="stable")


@dataclass(frozen=True)
class Views:
    """The vectors of some texts, an artefact of ``encode`` or ``encode_views``.

    Attributes:
        files: of the views ``dense`` and ``sparse``, those that there are.
    """

    folder: Path
    ids: IdFile
    files: Mapping[str, VectorFile | SparseFile]

    @classmethod
    def read(cls, folder: Path) -> Views:
        """Open an artefact. Raises DataError where a view has not as many rows as there are ids."""
        ids, path = IdFile(folder), folder / "views.json"
        files: dict[str, VectorFile | SparseFile] = {}
        widths = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"dense": True}
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
        """Return where the sparse values of each row begin, (N + 1,) int64; 0 without any."""
        file = self.files.get("sparse")
        return file.bounds if isinstance(file, SparseFile) else np.zeros(len(self) + 1, np.int64)

    def block(self, view: str, first: int, end: int) -> np.ndarray | csr_array:
        """Read rows ``first`` to ``end`` of a view, float32: (n, H), or (n, V) sparse."""
        return self.files[view].read(first, end)


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
        """Return each query's ``depth`` best pairs; of equal scores those in the greatest ``places`` (N,)
        among sorted ids."""
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
            if intact(self._note(first)) is not None:
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

    def _note(self, first: int) -> Path:
        return self.out / BLOCKS / f"{first}.json"

    def _save(self, first: int, pairs: Pairs) -> None:
        draft = self._path(first).with_suffix(".unfinished.npz")
        np.savez(draft, queries=pairs.queries.astype(np.int32), rows=pairs.rows, scores=pairs.scores)
        draft.replace(self._path(first))
        write_note(self._note(first), [self._path(first)])

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
