"""Read lines in bounded memory, and pipes, JSON and the package's YAML files."""

import contextlib
import gzip
import json
import lzma
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, AnyStr

from repro.errors import BlockedError, DataError

LONGEST_LINE = 2**24
BOM = b"\xef\xbb\xbf"
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff]")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
ARCHIVES = (".zip", ".gz")
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError)
STDIN = ("-", "/dev/stdin")
_FOLDERS: list[tempfile.TemporaryDirectory] = []
LFS = "version https://git-lfs.github.com/spec/"  # begins a pointer
IS_POINTER = "is a Git LFS pointer instead of the file itself"
PULL = "run `git lfs pull` in its folder"


def is_pointer(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(LFS)) == LFS.encode()


def check_pulled(folder: Path) -> None:
    """Raise BlockedError for a folder with pointers of Git LFS."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and is_pointer(path))
    if files:
        names = ", ".join(path.relative_to(folder).as_posix() for path in files)
        problem = IS_POINTER if len(files) == 1 else "are Git LFS pointers instead of the files themselves"
        raise BlockedError(f"{folder}: {names} {problem}", PULL)


def whole_lines(file: IO[AnyStr], path: Path, *, first: int = 1) -> Iterator[AnyStr]:
    """Yield lines with endings. Raises DataError for a Git LFS pointer or a line that is too long."""
    number, read_line = first, file.readline
    while line := read_line(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise DataError(f"{path}:{number}: the line is longer than {LONGEST_LINE - 1:,} characters")
        if number == 1 and line.startswith(LFS if isinstance(line, str) else LFS.encode()):
            raise DataError(f"{path} {IS_POINTER}. {PULL.capitalize()}.")
        yield line
        number += 1


def parsed_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError, also for too deep nesting."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dictionary. Raises ValueError for a repeated key."""
    content = dict(pairs)
    if len(content) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r} occurs twice")
    return content


def read_json_file(path: Path) -> Any:
    """Read a JSON file. Raises OSError or ValueError."""
    return parsed_json(path.read_bytes())


def read_facts(path: Path) -> Any:
    """Return the values of a YAML file of the package."""
    import yaml

    from repro.machine.file_cache import kept

    text = path.read_bytes()
    return kept(f"facts {path}", text, lambda: yaml.load(text, yaml.CSafeLoader))


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number (from 1) and text of each non-blank line, also of .gz and .xz files. Raises DataError."""
    empty = True
    with open_unpacked(path) as file:
        for number, text in texts(file, path):
            empty = False
            yield number, text
    if empty:
        raise DataError(f"{path}: is empty")


@contextlib.contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or a member of an archive, e.g. ``x.zip/corpus.jsonl``, unpacked. Raises DataError."""
    try:
        with contextlib.ExitStack() as stack:
            yield _content(path, stack)
    except DAMAGE as error:
        raise DataError(f"{path}: the packed file is damaged or cut off: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def texts(raw: IO[bytes], path: Path, *, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield number and text of each non-blank line of an open file. ``first`` is the first line's number."""
    for number, line in enumerate(whole_lines(raw, path, first=first), first):
        if number == 1:
            line = line.removeprefix(BOM)
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8"
            raise malformed(path, number, reason) from error
        if text.strip():
            yield number, text


def container(path: Path) -> Path:
    """Return the archive that contains a path, or the path itself."""
    return next((p for p in path.parents if p.suffix in ARCHIVES and p.is_file()), path)


def malformed(path: Path, number: int, reason: str) -> DataError:
    return DataError(f"{path}:{number}: {reason}")


def checked_id(value: object, what: str, path: Path, number: int) -> str:
    """Return an id that is a text without white space or control characters. Otherwise raises DataError."""
    if not isinstance(value, str) or not value:
        raise malformed(path, number, f"the {what} is {value!r}, not a non-empty string")
    if value.isalnum():  # fast path
        return value
    if value.split() != [value]:  # readers of runs split at any Unicode space
        raise malformed(path, number, f"the {what} {value!r} has white space in it")
    if UNSEEN.search(value):  # C programs stop at a NUL
        raise malformed(path, number, f"the {what} {value!r} has a control character in it")
    return value


def _content(path: Path, stack: contextlib.ExitStack) -> IO[bytes]:
    archive = container(path)
    if archive == path:
        return stack.enter_context(OPENERS.get(path.suffix, open)(path, "rb"))
    name, file = path.relative_to(archive).as_posix(), None
    if archive.suffix == ".zip":
        files = stack.enter_context(zipfile.ZipFile(archive))
        file = stack.enter_context(files.open(name)) if name in files.namelist() else None
    else:
        tar = stack.enter_context(tarfile.open(archive, "r|gz"))  # noqa: SIM115 (the stack closes it)
        file = next((tar.extractfile(entry) for entry in tar if entry.name == name), None)
    if file is None:
        raise DataError(f"{archive}: has no file {name}")
    return file


def csv_table(data: bytes, types: Mapping[str, Any], separator: str, **reading: Any) -> Any:
    """Return a pyarrow table of unquoted lines. ``types``: column -> type. Raises ArrowInvalid."""
    import pyarrow as pa
    from pyarrow import csv

    read = csv.ReadOptions(column_names=list(types), **reading)
    parse = csv.ParseOptions(
        delimiter=separator, quote_char=False, double_quote=False, ignore_empty_lines=False
    )
    convert = csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False)
    return csv.read_csv(pa.BufferReader(data), read, parse, convert)


def temporary_folder() -> Path:
    """Return a folder that exists until the process ends."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="repro-"))
    return Path(_FOLDERS[-1].name)


def short_names(message: str) -> str:
    """Return a message without the folders of ``temporary_folder``."""
    for folder in _FOLDERS:
        message = message.replace(f"{folder.name}/", "")
    return message


def as_file(name: str | Path) -> Path:
    """Return a path. A pipe, e.g. ``-``, is first copied to a file. Raises DataError for an empty pipe."""
    path, is_stdin = Path(name).expanduser(), str(name) in STDIN
    if not (str(name) == "-" or path.is_fifo() or path.is_socket()):
        return path
    label = "stdin" if is_stdin else f"pipe-{path.name}" if path.name.isdigit() else path.name
    copy = temporary_folder() / label
    source = contextlib.nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb")
    with source as stream, copy.open("wb") as target:
        shutil.copyfileobj(stream, target)
    if not copy.stat().st_size:
        raise DataError(f"{label} is empty. Check the command before the pipe.")
    return copy
