"""``train_log.jsonl``: about 200 lines of step, learning rate, gradient norm and losses."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch

from repro.errors import StageError
from repro.retrieval.training.process_group import rank
from repro.store.disk import write_whole

LINES = 200


class TrainingLog:
    """Means of the losses of all steps since the line before; the process of rank 0 writes them.

    Attributes:
        every: steps to a line.
    """

    def __init__(self, path: Path, *, steps: int):
        self.path, self.every = path, max(1, steps // LINES)
        self._total: torch.Tensor | None = None
        self._noted: dict[str, tuple[torch.Tensor, int]] = {}  # name -> sum, and how many steps have it
        self._steps, self._file = 0, None

    @contextlib.contextmanager
    def open(self, resumed_at: int) -> Iterator[None]:
        """Keep the file open, without the lines past that step."""
        if rank() > 0:
            yield
            return
        cut_log(self.path, resumed_at)
        with open(self.path, "a", encoding="utf-8", buffering=1) as self._file:
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
        """Hear of a step: its loss, the losses that this is the sum of, learning rate and gradient norm.

        Raises:
            StageError: a line is due, and a loss since the last one is not finite.
        """
        self._total = loss if self._total is None else self._total + loss
        self._steps += 1
        for name, value in losses.items():
            total, count = self._noted.get(name, (None, 0))
            self._noted[name] = value if total is None else total + value, count + 1
        if step % self.every == 0:
            self._write(step, rate, norm.item())

    def _write(self, step: int, rate: float, norm: float) -> None:
        mean = self._total.item() / self._steps
        means = {name: (total / count).item() for name, (total, count) in self._noted.items()}
        self._total, self._noted, self._steps = None, {}, 0
        if not all(math.isfinite(value) for value in (mean, *means.values())):
            details = ", ".join(f"{name} {value}" for name, value in means.items())
            raise StageError(f"the loss is not finite at step {step} ({details})")
        line = {"step": step, "learning_rate": rate, "loss": mean} | means
        if math.isfinite(norm):  # fp16 skips a step whose gradient overflowed: no norm there
            line["grad_norm"] = norm
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")


def cut_log(path: Path, step: int) -> None:
    """Keep the log's lines up to a step; what an interrupted attempt wrote after it is written again."""
    lines = []
    if step and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                if json.loads(line)["step"] > step:
                    break
            except ValueError:  # the attempt was killed while it wrote this line
                break
            lines.append(line + "\n")
    write_whole(path, "".join(lines))  # these lines are nowhere else
