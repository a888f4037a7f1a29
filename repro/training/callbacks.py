"""Checkpoints and progress at the end of a training step, and the log of an interrupted attempt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import TrainerCallback

from repro.training.checkpoints import seal
from repro.training.process_group import decided_by_first, everybody_waits, rank

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
