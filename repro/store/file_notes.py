"""Notes beside files, by which an interrupted stage goes on where the files are still as it wrote them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from repro.store.disk import sha256, write_whole


def write_note(
    note: Path, files: Iterable[Path], *, known: Mapping[str, str] | None = None, **content: Any
) -> None:
    """Write digests of files (``known`` by name, or read) and other content into a note, e.g.
    ``20000.json``."""
    digests = {path.name: (known or {}).get(path.name) or sha256(path) for path in files}
    write_whole(note, json.dumps({**content, "sha256": digests}))


def read_note(note: Path, **expected: Any) -> dict[str, Any] | None:
    """Return a note's content; None if it cannot be read or has other values, e.g. than ``steps=20``."""
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        return content if all(content[name] == value for name, value in expected.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def intact(note: Path, folder: Path | None = None, **expected: Any) -> dict[str, Any] | None:
    """Return what ``read_note`` does; None also if a file of ``folder``, else of the note's own, is
    changed."""
    if (content := read_note(note, **expected)) is None:
        return None
    try:
        digests = content["sha256"].items()
        same = all(sha256((folder or note.parent) / name) == digest for name, digest in digests)
    except (OSError, KeyError, TypeError, AttributeError):
        return None
    return content if same else None
