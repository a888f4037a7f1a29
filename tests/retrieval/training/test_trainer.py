from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter

import numpy as np
import torch
from torch import nn

from repro.progress import Progress
from repro.retrieval.training import training_log
from repro.retrieval.training.batch_order import BatchOrder
from repro.retrieval.training.loop import train
from tests.retrieval.training.settings import settings
from tests.retrieval.training.test_loop import Places, Regression, weights

STEPS = 12


class Decayed(Regression):
    """Frozen parameters, biases and a LayerNorm beside matrices."""

    def __init__(self):
        super().__init__()
        self.norm, self.frozen = nn.LayerNorm(8), nn.Linear(8, 8).requires_grad_(False)

    def forward(self, batch):
        return super().forward({"x": self.frozen(self.norm(batch["x"]))})


def bare(objective: Regression, count: int, optimisation, *, after=contextlib.nullcontext) -> None:
    """The training as torch alone makes it, each step in a context."""
    how = {"batch_size": 4, "steps": STEPS, "seed": optimisation.seed}
    examples, parameters = Places(count), list(objective.parameters())
    batches = [objective.collate(examples.__getitems__(places)) for places in BatchOrder(count, **how)]
    decayed = [p for n, p in objective.named_parameters() if n == "first.weight"]
    others = [p for n, p in objective.named_parameters() if n.endswith("bias") or n.startswith("norm")]
    groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.01, weight_decay=optimisation.weight_decay, fused=True)
    torch.manual_seed(optimisation.seed)
    torch.empty((), dtype=torch.int64).random_()  # as a loader of batches draws when it begins
    for step, batch in enumerate(batches):
        rate = step / 3 if step < 3 else (STEPS - step) / (STEPS - 3)
        with after():
            for group in adamw.param_groups:
                group["lr"] = 0.01 * rate
            sum(objective(batch).values()).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            adamw.step()
            objective.zero_grad()


def test_a_training_is_to_the_bit_what_torch_makes_of_its_batches(tmp_path):
    trained, expected = Decayed(), Decayed()
    expected.load_state_dict(trained.state_dict())
    start = weights(trained)
    optimisation = settings(weight_decay=0.1)
    bare(expected, 10, optimisation)
    train(trained, Places(10), optimisation, out=tmp_path, progress=Progress())
    assert weights(trained) == weights(expected) != start


class Calls:
    """Counts the functions that Python calls, its own and those of extensions."""

    def __init__(self):
        self.count, self.counts = 0, []

    def _called(self, frame, event, argument):
        self.count += event in ("call", "c_call")

    @contextlib.contextmanager
    def counted(self):
        """The calls of what is done in this context, as one number."""
        self.count = 0
        sys.setprofile(self._called)
        yield
        sys.setprofile(None)
        self.counts.append(self.count)

    def advance(self, n: int = 1) -> None:
        """Count from one step of a training to the next."""
        sys.setprofile(None)
        self.counts.append(self.count)
        self.count = 0
        sys.setprofile(self._called)


class Steps(Progress):
    def __init__(self, advance):
        self.advance = advance

    @contextlib.contextmanager
    def task(self, name, total=None, *, log=None):
        try:
            yield self.advance
        finally:
            sys.setprofile(None)


def test_a_step_does_little_beside_the_mathematics_of_its_objective(tmp_path):
    calls, bare_calls = Calls(), Calls()
    train(Regression(), Places(20), settings(), out=tmp_path, progress=Steps(calls.advance))
    bare(Regression(), 20, settings(), after=bare_calls.counted)
    a_step, its_bare_step = (np.median(some.counts[6:]) for some in (calls, bare_calls))
    assert 0 < a_step - its_bare_step < 300  # four examples fetched and collated, clocks, a line of the log


READINGS = ("item", "tolist", "cpu", "__bool__", "__float__")  # of a tensor, for which a GPU is waited for


def test_numbers_are_read_from_tensors_only_where_the_log_has_a_line(tmp_path, monkeypatch):
    read: list[str] = []
    for name in READINGS:
        of_torch = getattr(torch.Tensor, name)

        def reading(tensor, *given, of_torch=of_torch, name=name, **more):
            read.append(name)
            return of_torch(tensor, *given, **more)

        monkeypatch.setattr(torch.Tensor, name, reading)
    monkeypatch.setattr(training_log, "LINES", 3)
    train(Regression(), Places(10), settings(), out=tmp_path, progress=Progress())
    lines = (tmp_path / "train_log.jsonl").read_text().splitlines()
    losses = len(json.loads(lines[0])) - 4  # beside step, rate, norm and loss
    assert len(lines) == 3
    seed = 1  # the loader's own, on the CPU
    assert read == ["item"] * (seed + 3 * (2 + losses)), Counter(read)
