"""The files of a source, e.g. of ``arxiv.tar.gz``. Sizes are limited, and files outside are never read."""

import gzip
import os
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from repro.errors import DataError, UsageError

TEXT = (".tex", ".ltx", ".sty", ".cls", ".def", ".md", ".markdown", ".csv", ".tsv", ".html", ".htm", ".txt")
FILE_BYTES = 4 * 2**20  # per file
UNPACKED_BYTES = 2**30  # per archive
MEMBERS = 20_000


class Files:
    """The text files of a file, folder or archive. ``only`` is the name of a single one, or ""."""

    def __init__(self, path: Path):
        """Raise UsageError if ``path`` is missing, DataError if it is unreadable."""
        self.path, self.only = path, ""
        self._texts: dict[str, str] = {}
        self._members: dict[str, bytes] = {}
        try:
            if path.is_dir():
                self.root, self._names = path, list(_below(path))
            elif path.is_file():
                members = _unpacked(path)
                self.root, self._members = path.parent if members is None else path, members or {}
                self._names = [path.name] if members is None else list(members)
                self.only = self._names[0] if len(self._names) == 1 else ""
            elif path.parts[:1] in (("http:",), ("https:",)):
                address = f"{path.parts[0]}//{'/'.join(path.parts[1:])}"
                raise UsageError(f"{address!r} is an address. Download the file and give its path.")
            else:
                raise UsageError(f"there is no file or folder {str(path)!r}")
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def shown(self, name: str) -> Path:
        return self.root / name

    def resolve(
        self, name: str, *, beside: Iterable[str] = (), endings: tuple[str, ...] = ("", ".tex")
    ) -> str | None:
        r"""Return the file that ``\input{name}`` reads, or None. The folders of the files ``beside`` are
        searched first. Raises UsageError for a file outside of the root."""
        outside = False
        for start in dict.fromkeys(PurePosixPath(folder).parent for folder in (*beside, "root")):
            for ending in endings:
                inner = os.path.normpath(start / (name + ending))
                if inner.startswith(("..", "/", "~")) or os.path.isabs(inner):
                    outside = True
                elif self._has(inner):
                    return inner
        if outside:
            raise UsageError(f"{name!r} is outside of {str(self.root)!r} and is not read")
        return None

    def _has(self, name: str) -> bool:
        if self._members:
            return name in self._members
        try:
            file = (self.root / name).resolve()
            return file.is_file() and file.is_relative_to(self.root.resolve())
        except (OSError, ValueError):  # a name too long, or with a null byte
            return False

    def text(self, name: str) -> str:
        """Return a file's content. Raises DataError if it is unreadable, binary or too large."""
        if name not in self._texts:
            shown = self.shown(name)
            try:
                content = self._members[name] if self._members else _limited(shown.open("rb"), shown)
            except OSError as error:
                raise DataError(f"{shown} cannot be read: {error.strerror or error}") from error
            self._texts[name] = decoded(content, shown)
        return self._texts[name]


def decoded(content: bytes, shown: Path) -> str:
    r"""Decode UTF-8, UTF-16 with a byte order mark, or Windows-1252. Lines end with ``\n``. Raises DataError,
    which names ``shown``, for a binary file."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", errors="replace")
    elif content.startswith(b"%PDF"):
        raise DataError(f"{shown} is a PDF. Give its LaTeX source instead.")
    elif b"\0" in content[:65536]:
        raise DataError(f"{shown} is a binary file, not a text.")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_text(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in TEXT and not name.startswith(".")


def _below(folder: Path) -> Iterator[str]:
    seen = 0
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        seen += len(files)
        if seen > MEMBERS:
            raise DataError(f"{folder} has more than {MEMBERS:,} files. Give the folder of the source.")
        for path in (Path(root, file) for file in sorted(files) if _is_text(file)):
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                yield path.relative_to(folder).as_posix()


def _unpacked(path: Path) -> dict[str, bytes] | None:
    with path.open("rb") as stream:
        start = stream.read(4)
    try:
        if start == b"PK\x03\x04":
            with zipfile.ZipFile(path) as archive:
                infos = ((i.filename, i.file_size, lambda i=i: archive.open(i)) for i in archive.infolist())
                return _texts(infos, path)
        if tarfile.is_tarfile(path):
            with tarfile.open(path) as tar:
                members = ((m.name, m.size, lambda m=m: tar.extractfile(m)) for m in tar if m.isfile())
                return _texts(members, path)
        if start.startswith(b"\x1f\x8b"):
            return {path.stem: _limited(gzip.open(path), path)}
    except DataError:
        raise
    except Exception as error:  # damaged archives raise many kinds
        raise DataError(f"{path}: cannot be unpacked: {error or type(error).__name__}") from error
    return None


def _limited(stream: gzip.GzipFile | IO[bytes], shown: Path) -> bytes:
    with stream:
        content = stream.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise DataError(f"{shown} is larger than {FILE_BYTES >> 20} MB, the limit for a source.")
    return content


def _texts(members, path: Path) -> dict[str, bytes]:
    kept: dict[str, bytes] = {}
    unpacked = 0
    for count, (name, size, opened) in enumerate(members):
        unpacked += size
        if count > MEMBERS or unpacked > UNPACKED_BYTES:
            limit = f"{UNPACKED_BYTES >> 30} GB or {MEMBERS:,} files"
            raise DataError(f"{path} unpacks to more than {limit}, the limit for a source.")
        inner = os.path.normpath(name.replace("\\", "/"))
        if not inner.startswith(("..", "/")) and _is_text(PurePosixPath(inner).name):
            kept[inner] = _limited(opened(), path / inner)
    return kept
