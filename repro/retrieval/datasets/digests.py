"""Identify files and rows by sha256, e.g. "sha256:0a1b…". Plans may use cached digests, stages may not."""

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from repro.errors import BlockedError, DataError
from repro.machine.bounded_reading import container
from repro.machine.file_cache import kept
from repro.retrieval.datasets.sources import Source, file_digest

SHORT = 16  # bytes kept of a row's digest


class RowDigest:
    """sha256 over rows in order, as lines of JSON."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, row: Mapping | Sequence) -> None:
        self.count += 1
        self._hash.update(_line(row))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


class ContentDigest:
    """sha256 over the sorted digests of rows, the same for a collection in any order and file format.

    Each run of white space counts as one blank.
    """

    def __init__(self) -> None:
        self._digests = bytearray()

    def add(self, row: Mapping | Sequence) -> None:
        self._digests += hashlib.sha256(_line(_with_blanks(row))).digest()[:SHORT]

    def hexdigest(self) -> str:
        import numpy as np

        return hashlib.sha256(np.sort(np.frombuffer(self._digests, f"V{SHORT}")).tobytes()).hexdigest()


def _line(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _with_blanks(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _with_blanks(each) for key, each in value.items()}
    return list(map(_with_blanks, value)) if isinstance(value, tuple | list) else value


SETTLED = 2_000_000_000  # ns in which two changes may have the same time


def identity(source: Source, *, cached: bool = False) -> str:
    """Return the identity of a source's data, e.g. "sha256:…". ``cached`` as in ``digest``."""
    if source.kind == "parts":
        return f"sha256:{_join_digests(identity(part, cached=cached) for part in source.parts)}"
    if source.kind in ("folder", "home"):
        return f"sha256:{digest(source.files, cached=cached)}"
    if source.kind == "embedded":
        from repro.retrieval.datasets import reading

        rows = RowDigest()
        for row in reading.rows(source):
            rows.add(row)
        return f"rows:{rows.hexdigest()}"
    return source.stated_identity


def digest(files: Sequence[Path], *, cached: bool = False) -> str:
    """Return sha256 over names and contents of ``files``. Raises DataError for an unreadable file.

    ``cached`` allows kept digests of unchanged files that are older than two seconds.
    """
    read = cached_digest if cached else file_digest
    return _join_digests(part for path in files for part in (path.name, read(container(path))))


def cached_digest(path: Path) -> str:
    """Return a file's sha256. That of an unchanged file is kept in the user's cache."""
    stamp = _stamp(path)
    if time.time_ns() - stamp[-1] <= SETTLED:
        return file_digest(path)
    return kept(f"sha256 {path.resolve()}", repr(stamp).encode(), lambda: file_digest(path))


@contextlib.contextmanager
def planned_source(params: Mapping[str, Any]) -> Iterator[Source]:
    """Yield the source in a stage's parameters, then check that it has not changed since planning.

    Raises BlockedError if it is not downloaded, DataError if it changed.
    """
    source = Source.from_json(params["source"])
    if source.kind == "library":
        problem = f"the {source.piece} of {source.dataset} were not on this machine when this was planned"
        raise BlockedError(problem, f"run `repro data fetch {source.dataset}`, then the same command again")
    with unchanged(files(source), params["identity"], lambda: identity(source)):
        yield source


@contextlib.contextmanager
def unchanged(files: Sequence[Path], planned: str, identity: Callable[[], str]) -> Iterator[None]:
    """Let a stage read ``files``, then raise DataError if they changed since planning.

    ``planned`` is their identity in the plan, ``identity`` computes it.
    """
    containers = list(dict.fromkeys(map(container, files)))
    old_stamps = [_stamp(path) for path in containers]
    yield
    if identity() != planned or [_stamp(path) for path in containers] != old_stamps:
        names = ", ".join(map(str, files)) or "the embedded collection"
        raise DataError(f"{names}: changed after planning. Run the same command again.")


def stamps(files: Iterable[Path]) -> list[list]:
    """Return name, size, inode and times of each file. Raises DataError for an unreadable one."""
    return [[file.name, *_stamp(file)] for file in files]


def _stamp(path: Path) -> list[int]:
    """Return size, inode and times, but not the device number, which differs between machines."""
    try:
        stat = path.stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    return [stat.st_size, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns]


def files(source: Source) -> list[Path]:
    return [*source.files, *(path for part in source.parts for path in files(part))]


def _join_digests(parts: Iterable[str]) -> str:
    return hashlib.sha256(b"".join(part.encode() + b"\0" for part in parts)).hexdigest()
