"""Blocks of ``vectors.npy``, each with the digest by which an interrupted attempt finds it again.

A shard has a file for each of its blocks: on a network's file system two machines that write into one page
of one file may lose what the other wrote.
"""

import hashlib
import zipfile
from pathlib import Path

import numpy as np

from repro.machine.shard import shard
from repro.retrieval.stages.vectors.vector_files import new_array, take_space
from repro.store.disk import BLOCKS


def open_vectors(out: Path, count: int, size: int, *, numbers: str = "float32") -> None:
    """Make the array on disk, or keep it with its blocks' digests if it is of this shape and type."""
    path, notes = out / "vectors.npy", out / BLOCKS
    notes.mkdir(exist_ok=True)
    if not shard().whole:
        return
    try:
        array = np.load(path, mmap_mode="r")
        usable = array.shape == (count, size) and array.dtype == numbers
    except (OSError, ValueError):
        usable = False  # nothing there, or cut off in its header
    if usable:
        take_space(path)
        return
    for digest in notes.iterdir():
        if digest.name.isdigit():
            digest.unlink()
    new_array(path, (count, size), np.dtype(numbers)).flush()


def rows_of(out: Path, first: int, shape: tuple[int, int]) -> np.ndarray:
    """The block of a shape, (n, H), that begins with row ``first``, to be written into."""
    if not shard().whole:
        return np.empty(shape, np.float32)
    return np.load(out / "vectors.npy", mmap_mode="r+")[first : first + shape[0]]


def note(out: Path, first: int, block: np.ndarray) -> None:
    """Note the digest of a block that is filled, once it lies on the disk; a shard's is kept in a file."""
    if not shard().whole:
        draft = out / BLOCKS / f"{first}.unfinished.npz"
        np.savez(draft, vectors=block)  # with a checksum
        draft.replace(_shard_path(out, first))
        return
    block.flush()
    (out / BLOCKS / str(first)).write_text(_digest(block))


def is_there(out: Path, first: int, end: int) -> bool:
    """Whether a block is as it was noted, or as a shard kept it, from where the whole takes it over."""
    if _is_intact(out, first, end):
        return True
    vectors = _shard_vectors(_shard_path(out, first), end - first)
    if vectors is not None and shard().whole:
        block = rows_of(out, first, vectors.shape)
        block[:] = vectors
        note(out, first, block)
    return vectors is not None


def _is_intact(out: Path, first: int, end: int) -> bool:
    try:
        digest = (out / BLOCKS / str(first)).read_text()
        return digest == _digest(np.load(out / "vectors.npy", mmap_mode="r")[first:end])
    except (OSError, ValueError):  # not there, or cut off
        return False


def _shard_path(out: Path, first: int) -> Path:
    return out / BLOCKS / f"{first}.npz"


def _shard_vectors(path: Path, rows: int) -> np.ndarray | None:
    """The vectors of a shard's block, (``rows``, H); None where they are not as they were written."""
    try:
        with np.load(path) as block:
            vectors = block["vectors"]  # read to its end, it is compared with its checksum
        return vectors if len(vectors) == rows else None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block)).hexdigest()
