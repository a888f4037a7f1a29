"""Reads vectors and ids from disk, holding only the rows that are asked for in memory."""

import itertools
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from repro.errors import DataError

CHUNK = 1 << 24  # bytes of ids looked through at a time
IDS = 10_000  # ids written at a time


class VectorFile:
    """``vectors.npy`` of an embeddings folder, read block by block.

    The file is mapped for the time of one read: a mapping that stays counts as resident for every page
    touched, which is the whole file in the end. Its header is read once.

    Raises:
        DataError: the folder has no such array.
    """

    def __init__(self, folder: Path):
        self.path = folder / "vectors.npy"
        try:
            array = np.load(self.path, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path}: not an array of vectors ({error}); encode again") from error
        self.shape = array.shape
        order = "C" if array.flags.c_contiguous else "F"
        self._map = {"dtype": array.dtype, "offset": array.offset, "order": order}
        if len(self.shape) != 2:
            raise DataError(f"{self.path}: an array of shape {self.shape}, not (texts, dimensions)")

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, first: int, end: int, into: np.ndarray | None = None) -> np.ndarray:
        """Rows ``first`` to ``end``, (end - first, H) float32, in the rows of ``into`` if it is given.

        Numbers of another type, float16, are widened.
        """
        into = np.empty((end - first, self.shape[1]), dtype=np.float32) if into is None else into
        mapped = np.memmap(self.path, mode="r", shape=self.shape, **self._map)
        np.copyto(into[: end - first], mapped[first:end], casting="same_kind")
        return into[: end - first]


def new_array(path: Path, shape: tuple[int, ...], dtype: np.dtype | type) -> np.memmap:
    """An array of zeros on disk, mapped for writing.

    Raises:
        OSError: there is no space for all of it; found out later, that would kill the process.
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    take_space(path)
    return array


def take_space(path: Path) -> None:
    """Reserve disk space for every byte of a file. Raises OSError if there is not so much."""
    if hasattr(os, "posix_fallocate"):  # macOS has none
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def write_ids(ids: Iterable[str], folder: Path, source: Path) -> None:
    """Write ``ids.txt``.

    Raises:
        DataError: an id of ``source`` that no line of ``ids.txt`` or of a run can hold.
    """
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
        """The ids of these rows, (K,) int64."""
        bounds = zip(self._starts[rows].tolist(), self._starts[rows + 1].tolist(), strict=True)
        return [self._text[start : end - 1].decode("utf-8") for start, end in bounds]

    def ascending(self) -> np.ndarray:
        """Rows in the order of their ids, (N,) int64; bytes of UTF-8 sort as the characters do.

        Meanwhile it holds as many bytes for each id as the longest has, and 16 for sorting.
        """
        longest = int(np.diff(self._starts).max(initial=1))
        ids = np.empty(len(self), dtype=f"S{longest}")
        for first in range(0, len(self), 100_000):
            rows = np.arange(first, min(first + 100_000, len(self)))
            ids[rows] = [name.encode() for name in self.at(rows)]
        return np.argsort(ids, kind="stable")


def read_embeddings(folder: Path) -> tuple[VectorFile, IdFile]:
    """The vectors and as many ids.

    Raises:
        DataError: they differ in number.
    """
    vectors, ids = VectorFile(folder), IdFile(folder)
    if len(ids) != len(vectors):
        raise DataError(f"{folder}: {len(vectors)} vectors, but {len(ids)} ids")
    return vectors, ids
