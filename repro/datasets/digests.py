"""Identifies the files a collection is read from by sha256, remembered by size and time of change."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from repro.datasets.source import Source
from repro.errors import DataError


class RowDigest:
    """sha256 over rows as they are written, each a line of JSON: equal for equal data from any file."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def add(self, row: Mapping | Sequence) -> None:
        """Count ``row`` in."""
        self.count += 1
        self._hash.update(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def hexdigest(self) -> str:
        """The digest of all rows so far, in hexadecimal."""
        return self._hash.hexdigest()


def identity(source: Source, *, cache: Path | None = None) -> str:
    """The identity of a source's data: equal for equal files wherever they lie.

    An embedded or downloadable collection is known by its version, without reading anything.
    """
    if source.kind == "parts":
        return f"sha256:{_join_digests(identity(part, cache=cache) for part in source.parts)}"
    if source.kind == "folder":
        return f"sha256:{digest(source.files, cache=cache)}"
    return f"{source.kind}:{source.dataset}:{source.piece}:{source.version}"


def digest(files: Sequence[Path], *, cache: Path | None = None) -> str:
    """sha256 over names and contents of ``files``, in their order.

    ``cache`` is a JSON file of known digests, keyed by path, size and time of change in nanoseconds; it is
    written anew when something was added, if it can be, and what is unreadable in it is ignored. Raises
    DataError for a file that cannot be read.
    """
    known = _read_cache(cache)
    before = dict(known)
    parts = []
    for path in files:
        parts += [path.name, _file_digest(path, known)]
    if cache is not None and known != before:
        _write_cache(cache, known)
    return _join_digests(parts)


def file_sha256(path: Path) -> str:
    """sha256 of one file's bytes, as ``sha256sum`` prints it. Raises DataError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _file_digest(path: Path, known: dict[str, list]) -> str:
    try:
        stat = path.stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    key, stamp = str(path.resolve()), [stat.st_size, stat.st_mtime_ns]
    entry = known.get(key)
    if not (isinstance(entry, list) and len(entry) == 3 and entry[:2] == stamp):
        known[key] = entry = [*stamp, file_sha256(path)]
    return str(entry[2])


def _join_digests(parts: Iterable[str]) -> str:
    """sha256 of the parts, each closed by a zero byte, so that no two lists of parts look alike."""
    return hashlib.sha256(b"".join(part.encode() + b"\0" for part in parts)).hexdigest()


def _read_cache(cache: Path | None) -> dict[str, list]:
    if cache is None or not cache.is_file():
        return {}
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write_cache(cache: Path, known: dict[str, list]) -> None:
    """Replace the cache in one step, so that another process never reads half of it; do without at need."""
    partial = cache.with_name(f"{cache.name}.{os.getpid()}.partial")
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(known, indent=0, sort_keys=True), encoding="utf-8")
        partial.replace(cache)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
