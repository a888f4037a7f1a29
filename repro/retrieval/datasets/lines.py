"""Read text files, packed or not, as numbered lines. All readers of this package use it."""

import contextlib
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from repro.errors import DataError
from repro.machine.bounded_reading import whole_lines

BOM = b"\xef\xbb\xbf"
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff]")  # control characters, and a byte order mark within a file
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
ARCHIVES = (".zip", ".gz")
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number (from 1) and text of each non-blank line, without line end (LF or CR LF) or byte order
    mark. Unpacks .gz and .xz. Raises DataError for an empty, damaged or non-UTF-8 file."""
    empty = True
    with open_unpacked(path) as file:
        for number, text in texts(file, path):
            empty = False
            yield number, text
    if empty:
        raise DataError(f"{path}: is empty")


@contextlib.contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked (.gz, .xz), or a member of an archive, e.g. ``x.zip/corpus.jsonl``. Raises
    DataError."""
    try:
        with _content(path) as file:
            yield file
    except DAMAGE as error:
        raise DataError(f"{path}: the packed file is damaged or cut off: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def texts(raw: IO[bytes], path: Path, *, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield number and text of lines in the form of ``lines``. The first line has the number ``first``."""
    for number, line in enumerate(whole_lines(raw, path, first=first), first):
        if number == 1:
            line = line.removeprefix(BOM)
        text = _decode(line.removesuffix(b"\n").removesuffix(b"\r"), path, number)
        if text.strip():
            yield number, text


def container(path: Path) -> Path:
    """Return the file itself, or the archive that contains the path."""
    return next((p for p in path.parents if p.suffix in ARCHIVES and p.is_file()), path)


def malformed(path: Path, number: int, reason: str) -> DataError:
    """Return the error for a line: ``file:line: reason``."""
    return DataError(f"{path}:{number}: {reason}")


def checked_id(value: object, what: str, path: Path, number: int) -> str:
    """Return ``value`` unchanged. Raises DataError unless it can be an id in run and qrels files."""
    if not isinstance(value, str) or not value:
        raise malformed(path, number, f"the {what} is {value!r}, not a string with something in it")
    if value.isalnum():  # the fast path for nearly all ids
        return value
    if value.split() != [value]:  # readers of runs split at any Unicode white space
        raise malformed(path, number, f"the {what} {value!r} has white space in it")
    if UNSEEN.search(value):  # e.g. NUL, which ends a string in C
        raise malformed(path, number, f"the {what} {value!r} has a control character in it")
    return value


def _decode(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
        raise malformed(path, number, reason) from error


@contextlib.contextmanager
def _content(path: Path) -> Iterator[IO[bytes]]:
    archive = container(path)
    if archive == path:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            yield file
        return
    name = path.relative_to(archive).as_posix()
    with contextlib.ExitStack() as stack:
        file = _member(archive, name, stack)
        if file is None:
            raise DataError(f"{archive}: has no file {name}")
        yield file


def _member(archive: Path, name: str, stack: contextlib.ExitStack) -> IO[bytes] | None:
    """Return a member of an archive. A tar archive is read once from its start."""
    if archive.suffix == ".zip":
        files = stack.enter_context(zipfile.ZipFile(archive))
        return stack.enter_context(files.open(name)) if name in files.namelist() else None
    tar = stack.enter_context(tarfile.open(archive, "r|gz"))  # noqa: SIM115 (the stack closes it)
    return next((tar.extractfile(entry) for entry in tar if entry.name == name), None)
