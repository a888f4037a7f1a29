"""Locks of artefacts: held by one that builds the whole, or by several that each write a part.

The kernel holds them, and lets them go with their holder.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from repro.graph import Node
from repro.store.disk import translated_errors


def lock_file(root: Path, stage: str, fingerprint: str) -> Path:
    """The lock file that is held while an artefact is built, fetched or removed."""
    return root / "locks" / f"{stage}-{fingerprint}.lock"


@contextlib.contextmanager
def exclusive_lock(root: Path, node: Node, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the node's lock alone; ``waiting`` is called once where somebody else holds it."""
    from filelock import FileLock, Timeout

    with translated_errors(root):
        lock = FileLock(_file(root, node))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def beside_others(root: Path, node: Node, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the node's lock as others may, too; ``waiting`` is called once where somebody holds it alone."""
    with translated_errors(root):
        descriptor = _lock_shared(_file(root, node), waiting)
    try:
        yield
    finally:
        os.close(descriptor)


def _file(root: Path, node: Node) -> Path:
    file = lock_file(root, node.stage, node.fingerprint)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _lock_shared(file: Path, waiting: Callable[[], None]) -> int:
    """A descriptor of the file with a lock that many may have; closed, it lets the lock go."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.fstat(descriptor).st_nlink:  # else its name was removed meanwhile, and guards nothing
                stack.pop_all()
                return descriptor
