"""The memory that the C library keeps for this process, or gives back to the system when it is freed."""

import contextlib
import ctypes
import functools
from collections.abc import Iterator

TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h
KEPT = {MMAP: 1 << 30, TRIM: (1 << 31) - 1}  # bytes
USUAL = {MMAP: 32 << 20, TRIM: 64 << 20}  # what glibc sets itself at most, as large blocks are freed


@contextlib.contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep what is freed in this context for what is allocated next.

    glibc gives every block of more than 32 MB back when it is freed. A step of training allocates the same
    gradients and activations again, of which the system would then clear each page anew: an eighth of the
    time of a step of BERT's size. Where the C library is another one, nothing happens.
    """
    glibc = _glibc()
    if glibc is None:
        yield
        return
    _set(glibc, KEPT)
    try:
        yield
    finally:
        _set(glibc, USUAL)
        glibc.malloc_trim(0)


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None)
    names = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return library if all(hasattr(library, name) for name in names) else None


def _set(glibc: ctypes.CDLL, limits: dict[int, int]) -> None:
    for option, value in limits.items():
        glibc.mallopt(option, value)
