"""Downloads of ir_datasets that go on where an earlier one was cut off, and that say how far they are."""

import contextlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

from repro.progress import Progress

TRIES = 3  # in a row that bring nothing
PAUSE = 2.0  # seconds between them
TIMEOUT = 30.0  # seconds without a byte
CHUNK = 1 << 20
PARTIAL = 206
PAST_THE_END = 416


@contextlib.contextmanager
def resumable_downloads(progress: Progress) -> Iterator[None]:
    """Let every file that ir_datasets requests be kept while it comes, for a later process to go on with.

    ir_datasets itself asks for the rest of a file within one process only. Here the file grows in
    ``downloads`` of its home, is read from there once it is whole, and goes when its digest was compared.
    Processes with the same home take turns, since ir_datasets gives the files that it writes no names apart.
    """
    from ir_datasets.util import RequestsDownload, home_path

    folder = home_path() / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    with _folder_lock(folder, progress):
        original_stream = RequestsDownload.stream
        RequestsDownload.stream = lambda request: _stream(request, folder, progress)
        try:
            yield
        finally:
            RequestsDownload.stream = original_stream


@contextlib.contextmanager
def _folder_lock(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of the folder, and say so where somebody else holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.note(f"another process is downloading into {folder.parent}, waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _stream(request: Any, folder: Path, progress: Progress) -> Iterator[BinaryIO]:
    """The whole content of a request's address. A file that is not the one that was meant is forgotten."""
    from ir_datasets.util import HashVerificationError

    name = Path(request.url).name
    partial_file = folder / f"{sha256(request.url.encode()).hexdigest()[:16]}-{name}.partial"
    _complete(request, partial_file, progress)
    try:
        with partial_file.open("rb") as file:
            yield file
    except HashVerificationError:
        partial_file.unlink()
        raise
    partial_file.unlink()


def _complete(request: Any, partial_file: Path, progress: Progress) -> None:
    """Add to ``partial_file`` until it is whole. Raises requests' error after ``TRIES`` without a byte."""
    from ir_datasets.lazy_libs import requests

    tries = TRIES
    while True:
        old_size = _size(partial_file)
        try:
            return _fetch_remainder(request, partial_file, progress)
        except requests().RequestException:
            tries = TRIES if _size(partial_file) > old_size else tries - 1
            if not tries:
                raise
            sleep(PAUSE)


def _fetch_remainder(request: Any, partial_file: Path, progress: Progress) -> None:
    """Ask for the bytes behind those of ``partial_file``, or for all where the server gives no parts."""
    from ir_datasets.lazy_libs import requests

    size = _size(partial_file)
    headers = {**(request.headers or {}), "Accept-Encoding": "identity", "Range": f"bytes={size}-"}
    options = {"headers": headers, "cookies": request.cookies, "stream": True, "timeout": TIMEOUT}
    with requests().get(request.url, **options) as response:
        if response.status_code == PAST_THE_END and size:
            return  # it was whole before, which its digest will tell
        response.raise_for_status()
        offset = size if response.status_code == PARTIAL else 0
        length = response.headers.get("Content-Length")
        total = offset + int(length) if length else None
        name = f"downloading {Path(request.url).name}"
        with partial_file.open("ab" if offset else "wb") as file, progress.task(name, total) as advance:
            advance(offset)
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                advance(len(chunk))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
