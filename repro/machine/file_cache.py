"""Values computed from texts, kept in the user's cache between processes, e.g. the content of a YAML file."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from inspect import getfile
from pathlib import Path
from typing import TypeVar

from pydantic_core import from_json, to_json

from repro import locations
from repro.version import __version__

Value = TypeVar("Value")
MOST = 4_000  # files


def folder() -> Path:
    return locations.cache_folder() / "kept"


def kept(name: str, text: bytes, make: Callable[[], Value]) -> Value:
    """Return ``make()``, a JSON value that depends on ``text`` alone, from the cache if it is there.

    Each name has one value. A new text or an edit of the module of ``make`` replaces it.
    """
    path = key = None
    with contextlib.suppress(OSError, ValueError, TypeError, RuntimeError):  # e.g. no home
        code = f"{__version__} {sys.implementation.cache_tag} ".encode() + Path(getfile(make)).read_bytes()
        path, key = folder() / _digest(os.fsencode(name))[:32], _digest(code + text)
        stored_key, value = from_json(path.read_bytes())
        if stored_key == key:
            return value
    value = make()
    with contextlib.suppress(OSError, ValueError):
        if path and from_json(content := to_json([key, value])) == [key, value]:
            _write(path, content)
    return value


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}")
    scratch.write_bytes(content)
    scratch.replace(path)
    files = [file for file in path.parent.iterdir() if file.is_file()]
    if len(files) > MOST:
        for old in sorted(files, key=lambda file: file.stat().st_mtime)[: MOST // 2]:
            old.unlink()
