"""Trainings that are interrupted and go on, on a GPU: the weights at their end are those of straight ones.

Distances are shares of the way that the weights went from where they began. A CPU repeats a training to the
bit, and so has to be what is resumed. A GPU is asked for its deterministic kernels; where two straight
trainings end apart all the same, because some operation has none, a resumed one may be three times as far
away, and neither farther than a tenth of the way. A training that lost its optimiser's means or its random
numbers ends much farther off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import torch
from gpu_checks import relative, row
from gpu_models import CPU, DEVICE, likeliest_replacements, precisions, pretraining, without_dropout
from pretraining import RandomTexts, pretrainings

from repro.progress import Progress
from repro.retrieval.nn import precision as where
from repro.retrieval.training import loop
from repro.retrieval.training.declaration import Execution, Optimisation
from repro.retrieval.training.loop import train

STEPS, KILLED, EVERY = 12, 7, 3
FARTHER = 3  # times what two straight trainings are apart
MOVED = 0.1  # of the weights' way: so far may a GPU and a CPU be apart, as Adam enlarges small gradients


class Killed(Progress):
    """Raises after so many steps, as a kill would end the process."""

    def __init__(self, after: int):
        self.left = after

    @contextlib.contextmanager
    def task(self, name: str, total: int | None = None, **_) -> Iterator:
        yield self.advance

    def advance(self, n: int = 1) -> None:
        self.left -= n
        if self.left < 0:
            raise KeyboardInterrupt


class Few(RandomTexts):
    """The first texts of others."""

    def __init__(self, rows: RandomTexts, number: int):
        self.rows, self.number = rows, number

    def __len__(self) -> int:
        return self.number

    def __getitems__(self, places) -> list[dict]:
        return self.rows.__getitems__(places)


class Trainings:
    """Trainings of one paper's objective from the same weights.

    Attributes:
        began: the weights before.
    """

    def __init__(self, folder: Path, chosen: Namespace, *, paper: str = "simlm"):
        # of full width, but of few weights, since every training writes them with Adam's means four times
        few = {"layers": min(2, chosen.layers), "vocabulary": min(2_000, chosen.vocabulary)}
        self.folder, self.chosen = folder, Namespace(**vars(chosen) | few)
        self.paper, self.numbers = paper, count()
        self.began = flat(self.made()[0])

    def made(self) -> tuple[torch.nn.Module, RandomTexts]:
        return pretraining(self.paper, self.folder / f"model {next(self.numbers)}", self.chosen)

    def weights(self, name: str, *, free: bool, killed: bool = False, dropout: bool = True) -> torch.Tensor:
        """All weights after the last step, as one vector; started again behind the kill, if there is one."""
        params = pretrainings()[self.paper].params | {"precision": name, "learning_rate": 1e-4}
        how = Optimisation.of(params | {"warmup_ratio": 0, "warmup_steps": 0}, batch_size=4)
        how, out = replace(how, epochs=None, max_steps=STEPS), self.folder / f"out {next(self.numbers)}"
        out.mkdir()
        given = {"out": out, "execution": Execution(save_steps=EVERY, padding_free=int(free))}
        for progress in (Killed(KILLED), Progress()) if killed else (Progress(),):
            objective, rows = self.made()
            if not dropout:
                without_dropout(objective)
            with contextlib.suppress(KeyboardInterrupt):
                facts = train(objective, Few(rows, 8), how, progress=progress, **given)
        if killed and not facts.get("resumed_at"):
            raise RuntimeError("the training was not resumed")
        shutil.rmtree(out)
        return flat(objective)

    def apart(self, one: torch.Tensor, other: torch.Tensor) -> float:
        return relative(one - self.began, other - self.began)


def flat(objective: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten().double().cpu() for p in objective.parameters()])


def resumed(name: str):
    """A job: killed and resumed in a precision, padded and without padding; in fp32 the same on a CPU too."""

    def job(folder: Path, chosen: Namespace) -> Iterator[dict]:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS starts
        torch.use_deterministic_algorithms(True, warn_only=True)
        trainings = Trainings(folder, chosen)
        for free in (False, True):
            straight, again = (trainings.weights(name, free=free) for _ in range(2))
            found = trainings.weights(name, free=free, killed=True)
            noise = trainings.apart(again, straight)
            way = f"{name}{', without padding' * free}"
            note = f"two straight ones: {noise:.1e}" if noise else "two straight ones: the same bits"
            bound = 0 if DEVICE == CPU else MOVED
            yield row(f"{way}: two straight trainings", noise, bound)
            bound = min(FARTHER * noise, bound)
            yield row(f"{way}: killed at {KILLED}, resumed", trainings.apart(found, straight), bound, note)
        if name == "fp32":
            yield from as_on_cpu(trainings)

    return job


def as_on_cpu(trainings: Trainings) -> Iterator[dict]:
    """The same steps on the device and on a CPU, where nothing is drawn at random."""
    with likeliest_replacements():
        expected = on_cpu(lambda: trainings.weights("fp32", free=False, dropout=False))
        for free in (False, True):
            found = trainings.weights("fp32", free=free, dropout=False)
            compared = f"{STEPS} steps of training{', without padding' * free}, fp32 on {DEVICE.type} and cpu"
            yield row(compared, trainings.apart(found, expected), MOVED)


def on_cpu(work):
    """Return the result of ``work`` if the suite trains on the CPU meanwhile."""
    with patch.object(where, "device", lambda: CPU), patch.object(loop, "device", lambda: CPU):
        return work()


CHECKS = {
    f"check resumed training in {name}": resumed(name) for name in precisions()
}  # each within the limit
