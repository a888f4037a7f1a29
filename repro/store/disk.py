"""Remove, measure, hash and sync files, and explain errors of the file system."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from repro.errors import StoreError, UsageError

RECORD = "artefact.json"
SCORES = "scores.json"
GONE = ".gone"  # suffix during deletion
STORE = "--store or REPRO_STORE"
MEGABYTE = 10**6
BLOCKS, CHECKPOINTS = "blocks", "checkpoints"  # of an interrupted stage
FULL = {
    errno.ENOSPC: "no space is left on its file system",
    errno.EDQUOT: "the disk quota is used up",
}
REASONS = FULL | {
    errno.EROFS: "its file system is read-only",
    errno.EACCES: "it may not be written by this user",
    errno.EPERM: "it may not be written by this user",
    errno.ENOTDIR: "part of that path is a file",
    errno.EEXIST: "that path is a file",
    errno.ENAMETOOLONG: "a name in it would be longer than its file system takes",
}


@contextlib.contextmanager
def translated_errors(root: Path, what: str = "store", option: str = STORE) -> Iterator[None]:
    """Turn errors that a user's folder causes, e.g. a full disk, into a StoreError.

    ``what`` names the folder, e.g. "results folder". ``option`` is the option that changes it.
    """
    try:
        yield
    except OSError as error:
        name, root_path, reasons = error.filename, root.absolute(), dict(REASONS)
        place = Path(name).absolute() if isinstance(name, str | os.PathLike) else None
        if place in root_path.parents:
            reasons[errno.ENOENT] = f"{error.filename} is missing and cannot be made"
        is_elsewhere = place and not (place.is_relative_to(root_path) or root_path.is_relative_to(place))
        if error.errno not in reasons or is_elsewhere:
            raise
        remedy = f"{'free some, or ' * (error.errno in FULL)}name another{option and ' with ' + option}"
        raise StoreError(f"the {what} {root} cannot be used: {reasons[error.errno]}; {remedy}") from error


@contextlib.contextmanager
def file_lock(file: Path, waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Hold a file's lock. ``waiting`` is called once if another process holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(file)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        waiting()
        held = lock.acquire()
    with held:
        yield


def make_writable(root: Path, what: str = "store", option: str = STORE) -> None:
    """Create a folder if it is missing, and test that it is writable. Raises StoreError."""
    with translated_errors(root, what, option):
        root.mkdir(parents=True, exist_ok=True)
        probe = root / f".probe-{os.getpid()}"
        create_file(probe).close()
        probe.unlink()


def remove(path: Path) -> None:
    """Remove a file, a link (not its target) or a folder, first renamed to ``<name>.gone``."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    gone_path = path if path.name.endswith(GONE) else path.with_name(path.name + GONE)
    if gone_path != path:
        shutil.rmtree(gone_path, ignore_errors=True)
        path.rename(gone_path)
    shutil.rmtree(gone_path)


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file or folder without following links, 0 if it is missing."""
    is_folder = path.is_dir() and not path.is_symlink()
    files = [Path(top, name) for top, _, names in os.walk(path) for name in names] if is_folder else [path]
    total = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            total += file.lstat().st_size
    return total


def create_file(file: Path, mode: str = "x") -> IO:
    """Open a new file. It replaces a file or link, so that nothing is written through a link."""
    file.unlink(missing_ok=True)
    return file.open(mode)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write and sync a new file, then rename it to ``path``."""
    scratch = path.with_name(f"{path.name}.{uuid4().hex}.new")
    try:
        with create_file(scratch, "xb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        sync(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(to: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``to`` on success. Raises UsageError if ``to`` is not empty."""
    to = to.absolute()
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} exists and is not empty. Name another directory with -o.")
    scratch = to.with_name(f".{to.name}.{os.getpid()}")
    try:
        scratch.mkdir(parents=True)
        yield scratch
        for path in scratch.rglob("*"):
            share(path)
        os.rename(scratch, to)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def append_lines(path: Path, text: bytes) -> None:
    """Append lines, after removing an unfinished last line that a killed process left."""
    with path.open("a+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        complete = stream.read().rfind(b"\n") + 1
        if complete < end:
            stream.truncate(complete)
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def check_regular(path: Path) -> os.stat_result:
    """Return a file's status. Raises OSError for a link, folder or pipe."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return status


def sha256(file: Path, advance: Callable[[int], object] = lambda megabytes: None) -> str:
    """Return a file's hexadecimal SHA-256. ``advance(1)`` is called for each megabyte."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(MEGABYTE))
    with file.open("rb") as stream:
        while size := stream.readinto(buffer):
            digest.update(buffer[:size])
            advance(1)
    return digest.hexdigest()


def megabytes(size: int) -> int:
    """Convert bytes to megabytes, rounded up."""
    return -(-size // MEGABYTE)


def share(file: Path) -> None:
    """Add the read and write permissions of a file's folder to those of the file."""
    mode = file.stat().st_mode
    if (wanted := mode | file.parent.stat().st_mode & 0o666) != mode:
        file.chmod(wanted)


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_note(
    note: Path, files: Iterable[Path], *, known: Mapping[str, str] | None = None, **content: Any
) -> None:
    """Write a JSON note of ``content`` and each file's sha256. ``known`` has computed digests by name."""
    digests = {path.name: (known or {}).get(path.name) or sha256(path) for path in files}
    write_whole(note, json.dumps({**content, "sha256": digests}))


def read_note(note: Path, **expected: Any) -> dict[str, Any] | None:
    """Return a note's content, or None if it is unreadable or differs from ``expected``, e.g. steps=20."""
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        return content if all(content[name] == value for name, value in expected.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def intact(note: Path, folder: Path | None = None, **expected: Any) -> dict[str, Any] | None:
    """Return a note like ``read_note``, or None if a file that it lists has changed.

    ``folder`` has these files, by default the note's.
    """
    with contextlib.suppress(OSError, LookupError, TypeError, AttributeError):
        content = read_note(note, **expected) or {}
        if all(sha256((folder or note.parent) / name) == d for name, d in content["sha256"].items()):
            return content
    return None
