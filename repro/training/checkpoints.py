"""Sealed checkpoints, so that an interrupted training goes on from one that is whole, and its log from there.

The Trainer writes a checkpoint file by file. One counts only once its seal is there, written last and by
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
from transformers import TrainerCallback

from repro.training.process_group import decided_by_first, everybody_waits, rank

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


CHECKPOINT_SECONDS = 600


class Checkpoints(TrainerCallback):
    """Asks for a checkpoint when one is due, and seals it once it is written.

    One is due at the last step, else only where the log has a line: nothing is then left to be a mean of.
    """

    def __init__(self, save_steps: int | None):
        self.save_steps = save_steps
        self.saved_time, self.saved_step = time.monotonic(), 0

    def on_train_begin(self, args, state, control, **kwargs):
        self.saved_step = state.global_step

    def on_step_end(self, args, state, control, **kwargs):
        step = state.global_step
        control.should_save = step == state.max_steps or (
            step % args.logging_steps == 0 and self._due(step, args.device)
        )
        return control

    def _due(self, step: int, device: torch.device) -> bool:
        if self.save_steps is None:
            return decided_by_first(time.monotonic() - self.saved_time > CHECKPOINT_SECONDS, device)
        return step - self.saved_step >= self.save_steps

    def on_save(self, args, state, control, **kwargs):
        everybody_waits()  # each process has its own generator's state in the checkpoint
        if rank() == 0:
            seal(Path(args.output_dir) / f"checkpoint-{state.global_step}", steps=state.max_steps)
        self.saved_time, self.saved_step = time.monotonic(), state.global_step


class Steps(TrainerCallback):
    """Passes every step on."""

    def __init__(self, advance: Callable[[int], None]):
        self.advance = advance

    def on_step_end(self, args, state, control, **kwargs):
        self.advance(1)


def cut_log(path: Path, step: int) -> None:
    """Keep the log's lines up to a step; what an interrupted attempt wrote after it is written again."""
    kept = []
    if step and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["step"] > step:
                    break
            except ValueError:  # the attempt was killed while it wrote this line
                break
            kept.append(line + "\n")
    path.write_text("".join(kept), encoding="utf-8")
