"""Knows how far an index had come when it was last committed, so that an interrupted stage goes on there."""

import json
import shutil
from pathlib import Path
from typing import Any

from repro.store.disk import sha256

LOCK = "write.lock"


class Commits:
    """The note of an index's last commit: the documents behind it, and a digest of each of its files.

    Lucene writes no file twice, and what was written behind the last commit it removes when it opens the
    index again. So an index whose committed files are as noted can be added to.

    Args:
        index: the folder of the index.
        note: the file beside it.
        origin: what the index is made from, as JSON; an index of anything else is begun anew.
    """

    def __init__(self, index: Path, note: Path, origin: Any):
        self._index, self._note, self._origin = index, note, origin
        self._digests: dict[str, str] = {}

    def resume(self) -> dict[str, int]:
        """The counts of the last commit; none, and no index, where it is not as it was noted."""
        try:
            note = json.loads(self._note.read_text())
            whole = note["origin"] == self._origin and all(
                sha256(self._index / name) == digest for name, digest in note["files"].items()
            )
            whole &= {path.name for path in self._index.glob("segments_*")} <= note["files"].keys()
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if whole:
            self._digests = note["files"]
            return note["counts"]
        shutil.rmtree(self._index, ignore_errors=True)  # Lucene would add to it, or call it locked
        return {}

    def add(self, counts: dict[str, int]) -> None:
        """Note a commit that has just been made."""
        names = sorted(path.name for path in self._index.iterdir() if path.name != LOCK)
        self._digests = {name: self._digests.get(name) or sha256(self._index / name) for name in names}
        note = {"origin": self._origin, "counts": counts, "files": self._digests}
        new_note = self._note.with_suffix(".new")
        new_note.write_text(json.dumps(note))
        new_note.replace(self._note)
