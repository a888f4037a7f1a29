"""What code was found before, kept in the user's cache folder by all that the suite's files said then."""

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from time import time_ns
from typing import Any
from uuid import uuid4

import yaml

from repro.locations import code_folder

SETTLED = 10**9  # nanoseconds after which an edit has a time of its own
MOST = 500  # files that are kept, the last ones


class KeptCode:
    """Facts of code, each in a file named by where it begins and by what every file of some folders says.

    The rules by which code is found lie in these folders, too, so that no fact outlives a rule. Whoever can
    write the files can have other code taken for the one here, as by those of ``__pycache__``.
    """

    def __init__(self, folders: Iterable[Path]):
        self._folders = list(folders)
        self._stamps = _stamps(self._folders)
        contents = {
            os.path.relpath(path, self._folders[0].parent): stamp and _sha256(Path(path).read_bytes())
            for path, stamp in sorted(self._stamps.items())
        }
        self._key = json.dumps([sys.version, yaml.__version__, contents])

    def read(self, entries: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the facts of what begins there; None where none are kept, or their file is damaged."""
        with contextlib.suppress(OSError, ValueError):
            digest, _, text = self._file(entries).read_text("utf-8").partition("\n")
            return json.loads(text) if digest == _sha256(text.encode()) else None
        return None

    def write(self, entries: tuple[str, ...], facts: dict[str, Any], places: Iterable[Path]) -> None:
        """Keep facts, unless a file was edited while they were found, or the folder cannot be written.

        Args:
            places: all that were looked at; with one beside the folders nothing is kept.
        """
        # with an edit just made, a second one may not show: clocks tick
        is_settled = all(time < time_ns() - SETTLED for *_, time in filter(None, self._stamps.values()))
        is_same = self._stamps and is_settled and _stamps(self._folders) == self._stamps
        if not is_same or not all(map(self._is_known, places)):
            return
        text, file = json.dumps(facts), self._file(entries)
        scratch = file.with_suffix(f".{uuid4().hex}")
        with contextlib.suppress(OSError):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            scratch.write_text(f"{_sha256(text.encode())}\n{text}", "utf-8")
            scratch.replace(file)
            for old in sorted(file.parent.iterdir(), key=os.path.getmtime)[:-MOST]:
                old.unlink()

    def _file(self, entries: tuple[str, ...]) -> Path:
        return code_folder() / f"{_sha256(json.dumps([entries, self._key]).encode())}.json"

    def _is_known(self, place: Path) -> bool:
        """Return whether a place lies in one of the folders, or is what holds one."""
        is_inside = any(folder in (place, *place.parents) for folder in self._folders)
        return ".." not in place.parts and (is_inside or place in [f.parent for f in self._folders])


def _stamps(folders: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return what shows an edit of each file, and nothing for a folder; empty where one is a link."""
    stamps: dict[str, tuple[int, ...]] = {}
    for folder, inner, files in (place for top in folders for place in os.walk(top)):
        inner[:] = [name for name in inner if name != "__pycache__"]
        for name in [*inner, *files]:
            s = os.lstat(path := f"{folder}/{name}")
            if stat.S_ISLNK(s.st_mode):  # it leads elsewhere
                return {}
            stamps[path] = () if name in inner else (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
    return stamps


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
