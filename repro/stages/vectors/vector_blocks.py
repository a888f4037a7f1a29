"""Blocks of ``vectors.npy``, each with the digest by which an interrupted attempt finds it again."""

import hashlib
import shutil
from pathlib import Path

import numpy as np

from repro.stages.vectors.vector_files import new_array, take_space
from repro.store.disk import BLOCKS


def open_vectors(out: Path, count: int, size: int) -> None:
    """Make the array on disk, or keep it with its blocks' digests if it is of this shape."""
    path, digests = out / "vectors.npy", out / BLOCKS
    try:
        kept = np.load(path, mmap_mode="r")
        usable = kept.shape == (count, size) and kept.dtype == np.float32 and digests.is_dir()
    except (OSError, ValueError):
        usable = False  # nothing there, or cut off in its header
    if usable:
        take_space(path)
        return
    shutil.rmtree(digests, ignore_errors=True)
    new_array(path, (count, size), np.float32).flush()
    digests.mkdir()


def rows_of(out: Path, first: int, size: int) -> np.memmap:
    """The block of so many rows that begins with row ``first``, (size, H), to be written into."""
    return np.load(out / "vectors.npy", mmap_mode="r+")[first : first + size]


def note(out: Path, first: int, block: np.memmap) -> None:
    """Note the digest of a block that is filled, once it lies on the disk."""
    block.flush()
    (out / BLOCKS / str(first)).write_text(_digest(block))


def is_intact(out: Path, first: int, end: int) -> bool:
    """True of a block that is as it was noted."""
    digest = out / BLOCKS / str(first)
    if not digest.exists():
        return False
    return digest.read_text() == _digest(np.load(out / "vectors.npy", mmap_mode="r")[first:end])


def _digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block)).hexdigest()
