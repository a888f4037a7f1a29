"""Pipes as files, e.g. ``/dev/stdin``, ``-`` or the shell's ``<(zcat my.run.gz)``."""

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

STDIN = ("-", "/dev/stdin")
_FOLDERS: list[tempfile.TemporaryDirectory] = []  # removed at the end of the process


def temporary_folder() -> Path:
    """Return a new folder that exists until the process ends."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="repro-"))
    return Path(_FOLDERS[-1].name)


def as_file(name: str | Path) -> Path:
    """Return a file with the content of a pipe, which can be read once, or the path itself."""
    path, is_stdin = Path(name).expanduser(), str(name) in STDIN
    if not (str(name) == "-" or path.is_fifo() or path.is_socket()):
        return path
    label = "stdin" if is_stdin else f"pipe-{path.name}" if path.name.isdigit() else path.name
    copy = temporary_folder() / label
    with contextlib.nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb") as source:
        with copy.open("wb") as target:
            shutil.copyfileobj(source, target)
    return copy
