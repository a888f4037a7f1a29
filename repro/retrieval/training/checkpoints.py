"""The log and the checkpoints that a training resumes from."""

import contextlib
import json
import math
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
import torch
from safetensors.torch import load_model, save_model
from torch import nn
from transformers.trainer_pt_utils import safe_globals

from repro.errors import StageError
from repro.retrieval.training.optimizer import Optimizer
from repro.retrieval.training.process_group import decided_by_first, everybody_waits, processes, rank
from repro.store import disk

LINES, SUMS = 200, "log.pt"


class TrainingLog:
    """A log of about 200 lines. Each has the mean losses since the previous line."""

    def __init__(self, path: Path, *, steps: int):
        self.path, self.every = path, max(1, steps // LINES)
        self._total: torch.Tensor | None = None
        self._noted: dict[str, tuple[torch.Tensor, int]] = {}  # name -> sum, number of steps
        self._steps = 0
        self._file: TextIO | None = None

    @contextlib.contextmanager
    def open(self, resumed_at: int) -> Iterator[None]:
        """Keep the log file open in this context. Lines after step ``resumed_at`` are removed."""
        if rank() > 0:
            yield
            return
        cut_log(self.path, resumed_at)
        with open(self.path, "a", buffering=1) as self._file:
            yield

    def note(
        self,
        step: int,
        loss: torch.Tensor,
        losses: dict[str, torch.Tensor],
        *,
        rate: float,
        norm: torch.Tensor,
    ) -> None:
        """Record a step, and write a line if due. Raises StageError if a loss in it is not finite."""
        self._total = whole = loss if self._total is None else self._total + loss
        self._steps += 1
        for name, value in losses.items():
            total, count = self._noted.get(name, (None, 0))
            self._noted[name] = value if total is None else total + value, count + 1
        if step % self.every == 0:
            self._write(step, rate, norm.item(), mean=whole.item() / self._steps)

    def _write(self, step: int, rate: float, norm: float, *, mean: float) -> None:
        means = {name: (total / count).item() for name, (total, count) in self._noted.items()}
        self._total, self._noted, self._steps = None, {}, 0
        if not all(math.isfinite(value) for value in (mean, *means.values())):
            details = ", ".join(f"{name} {value}" for name, value in means.items())
            raise StageError(f"the loss is not finite at step {step} ({details})")
        line = {"step": step, "learning_rate": rate, "loss": mean} | means
        if math.isfinite(norm):  # not finite if fp16 overflowed
            line["grad_norm"] = norm
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")

    def save(self, folder: Path) -> None:
        torch.save((self._total, self._noted, self._steps), folder / SUMS)

    def load(self, folder: Path, device: torch.device) -> None:
        sums = torch.load(folder / SUMS, map_location=device, weights_only=True)
        self._total, self._noted, self._steps = sums


def cut_log(path: Path, step: int) -> None:
    lines = []
    if step and path.exists():
        for line in path.read_text().splitlines():
            try:
                if json.loads(line)["step"] > step:
                    break
            except ValueError:  # cut off while it was written
                break
            lines.append(line + "\n")
    disk.write_whole(path, "".join(lines))


SEAL = "seal.json"
CHECKPOINT_SECONDS = 600
ASKED = 20  # steps between checks of the time


def seal(checkpoint: Path, *, steps: int) -> None:
    """Mark a checkpoint as complete by ``seal.json``, which has each file's digest."""
    files = [path for path in sorted(checkpoint.iterdir()) if path.is_file() and path.name != SEAL]
    disk.write_note(checkpoint / SEAL, files, steps=steps)


def last_complete(checkpoints: Path, *, steps: int) -> Path | None:
    """Return the newest intact checkpoint of a training of ``steps``, or None, and delete all others."""
    checkpoint = None
    folders = [path for path in checkpoints.glob("checkpoint-*") if path.is_dir()]
    for folder in sorted(folders, key=step_of, reverse=True):
        if checkpoint is None and disk.intact(folder / SEAL, steps=steps) is not None:
            checkpoint = folder
        else:
            shutil.rmtree(folder)
    return checkpoint


def step_of(checkpoint: Path) -> int:
    """Return the step of a checkpoint, e.g. 500 for ``checkpoint-500``, or -1."""
    number = checkpoint.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


class Checkpoints:
    """Decides when to save a checkpoint, always at the last step, and keeps the last two.

    ``every`` is in steps. None saves one every ``CHECKPOINT_SECONDS``.
    """

    def __init__(self, folder: Path, every: int | None, *, steps: int):
        self.folder, self.every, self.steps = folder, every, steps
        self.saved_time = time.monotonic()

    def due(self, step: int, device: torch.device) -> bool:
        """Return whether to save now. All processes have to call it."""
        if step == self.steps:
            return True
        if self.every is not None:
            return step % self.every == 0
        if processes() > 1 and step % ASKED:
            return False
        return decided_by_first(time.monotonic() - self.saved_time > CHECKPOINT_SECONDS, device)

    def save(self, step: int, write: Callable[[Path], None]) -> None:
        checkpoint = self.folder / f"checkpoint-{step}"
        write(checkpoint)
        everybody_waits()
        if rank() == 0:
            seal(checkpoint, steps=self.steps)
            for older in sorted(self.folder.glob("checkpoint-*"), key=step_of)[:-2]:
                shutil.rmtree(older)
        self.saved_time = time.monotonic()


WEIGHTS, OPTIMIZER, SCHEDULE, SCALER = "model.safetensors", "optimizer.pt", "scheduler.pt", "scaler.pt"


def write_state(objective: nn.Module, optimizer: Optimizer, folder: Path) -> None:
    """Write weights and optimizer states (rank 0 only), and each process's random states."""
    folder.mkdir(parents=True, exist_ok=True)
    if rank() == 0:
        save_model(objective, str(folder / WEIGHTS))  # supports weights that share memory
        for name, part in _parts(optimizer).items():
            torch.save(part.state_dict(), folder / name)
    states = {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()}
    cuda = {"cuda": torch.cuda.get_rng_state()} if torch.cuda.is_available() else {}
    torch.save(states | cuda, _generators(folder))


def read_state(objective: nn.Module, optimizer: Optimizer, folder: Path) -> None:
    """Restore weights and optimizer states. Raises pickle.UnpicklingError for a file that would run code."""
    device = next(objective.parameters()).device
    load_model(objective, str(folder / WEIGHTS), device="cpu" if device.type == "cpu" else str(device))
    for name, part in _parts(optimizer).items():
        part.load_state_dict(torch.load(folder / name, map_location="cpu", weights_only=True))


def restore_generators(folder: Path) -> None:
    if not _generators(folder).exists():  # written by another number of processes
        return
    with safe_globals():
        states = torch.load(_generators(folder), weights_only=True)
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available() and torch.is_tensor(states.get("cuda")):
        torch.cuda.set_rng_state(states["cuda"])


def _parts(optimizer: Optimizer) -> dict:
    scaler = {} if optimizer.scaler is None else {SCALER: optimizer.scaler}
    return {OPTIMIZER: optimizer.adamw, SCHEDULE: optimizer.schedule, **scaler}


def _generators(folder: Path) -> Path:
    return folder / ("rng_state.pth" if processes() == 1 else f"rng_state_{rank()}.pth")
