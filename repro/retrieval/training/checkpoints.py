"""Sealed checkpoints, so that an interrupted training goes on from one that is whole, and its log from there.

A checkpoint is written file by file. One counts only once its seal is there, written last and by
renaming: the digest of each file, and the length of the training it belongs to.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import torch

from repro.retrieval.training.process_group import decided_by_first, everybody_waits, rank

SEAL = "seal.json"
CHECKPOINT_SECONDS = 600


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
    checkpoint = None
    folders = [path for path in checkpoints.glob("checkpoint-*") if path.is_dir()]
    for folder in sorted(folders, key=step_of, reverse=True):
        if checkpoint is None and _is_intact(folder, steps):
            checkpoint = folder
        else:
            shutil.rmtree(folder)
    return checkpoint


def step_of(checkpoint: Path) -> int:
    """The step after which a checkpoint was written, from its name; -1 where it has no number."""
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def _is_intact(checkpoint: Path, steps: int) -> bool:
    try:
        record = json.loads((checkpoint / SEAL).read_text(encoding="utf-8"))
        same_files = all(_digest(checkpoint / name) == digest for name, digest in record["sha256"].items())
        return record["steps"] == steps and same_files
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Checkpoints:
    """Says when a checkpoint is due, and keeps the two last ones.

    One is due at the last step, else only where the log has a line: nothing is then left to be a mean of.

    Args:
        folder: that they lie in.
        every: steps between them; None for ``CHECKPOINT_SECONDS``.
        steps: of the training.
        line: steps to a line of the log.
        done: steps before this attempt.
    """

    def __init__(self, folder: Path, every: int | None, *, steps: int, line: int, done: int):
        self.folder, self.every, self.steps, self.line = folder, every, steps, line
        self.saved_time, self.saved_step = time.monotonic(), done

    def due(self, step: int, device: torch.device) -> bool:
        """Whether to save now; all processes ask."""
        if step == self.steps or step % self.line:
            return step == self.steps
        if self.every is None:
            return decided_by_first(time.monotonic() - self.saved_time > CHECKPOINT_SECONDS, device)
        return step - self.saved_step >= self.every

    def save(self, step: int, write: Callable[[Path], None]) -> None:
        """Have every process write its part of a checkpoint, seal it, and let go of all but the last two."""
        checkpoint = self.folder / f"checkpoint-{step}"
        write(checkpoint)
        everybody_waits()
        if rank() == 0:
            seal(checkpoint, steps=self.steps)
            for older in sorted(self.folder.glob("checkpoint-*"), key=step_of)[:-2]:
                shutil.rmtree(older)
        self.saved_time, self.saved_step = time.monotonic(), step
