"""Sealed checkpoints, so that an interrupted training goes on from one that is whole.

The Trainer writes a checkpoint file by file. One counts only once its seal is there, written last and by
renaming: the digest of each file, and the length of the training it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

SEAL = "seal.json"


def seal(checkpoint: Path, *, steps: int) -> None:
    """Mark a checkpoint of a training of ``steps`` steps as complete."""
    files = [path for path in sorted(checkpoint.iterdir()) if path.is_file() and path.name != SEAL]
    digests = {path.name: _digest(path) for path in files}
    partial = checkpoint / (SEAL + ".partial")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump({"steps": steps, "sha256": digests}, file)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(checkpoint / SEAL)


def last_complete(checkpoints: Path, *, steps: int) -> Path | None:
    """The furthest sealed and undamaged checkpoint of a training of ``steps`` steps; None if there is none.

    Everything else in the folder is removed: a later checkpoint would be written over it.
    """
    chosen = None
    folders = [path for path in checkpoints.glob("checkpoint-*") if path.is_dir()]
    for folder in sorted(folders, key=step_of, reverse=True):
        if chosen is None and _intact(folder, steps):
            chosen = folder
        else:
            shutil.rmtree(folder)
    return chosen


def step_of(checkpoint: Path) -> int:
    """The step after which a checkpoint was written, from its name; -1 where it has no number."""
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def _intact(checkpoint: Path, steps: int) -> bool:
    try:
        sealed = json.loads((checkpoint / SEAL).read_text(encoding="utf-8"))
        same_files = all(_digest(checkpoint / name) == digest for name, digest in sealed["sha256"].items())
        return sealed["steps"] == steps and same_files
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
