from __future__ import annotations

import contextlib
import resource
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from repro.machine import system
from repro.machine.system import freed_memory_kept
from repro.progress import Progress
from repro.retrieval.training.loop import train
from tests.bounded_memory import in_fresh_process
from tests.stage_inputs import Rows, optimisation

LARGE = 48 << 20  # bytes: more than glibc keeps by itself
PAGES = LARGE // resource.getpagesize()
glibc = pytest.mark.skipif(system._glibc() is None, reason="another C library")


def faults() -> int:
    """Pages that the system has cleared for this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def fill(_=None) -> torch.Tensor:
    return torch.empty(LARGE // 4).fill_(1.0)


def fewest(so_far: list[int]) -> int:
    """The fewest pages that one of the times has cleared; the first ones find their places."""
    return min(after - before for before, after in pairwise(so_far))


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def pages_cleared_and_bytes_given_back() -> tuple[int, int]:
    """The fewest pages that one use of freed memory has cleared, and what was given back in the end."""
    with freed_memory_kept():
        so_far = [(fill(), faults())[1] for _ in range(8)]
        kept = resident()
    return fewest(so_far), kept - resident()


@glibc
def test_what_is_freed_serves_again_and_is_given_back_in_the_end():
    cleared, given_back = in_fresh_process(
        pages_cleared_and_bytes_given_back
    )  # its heap can grow in one piece
    assert cleared < PAGES / 10
    assert given_back > 0.9 * LARGE


def test_with_another_c_library_nothing_happens(monkeypatch):
    monkeypatch.setattr(system, "_glibc", lambda: None)
    with freed_memory_kept():
        assert len(fill()) == LARGE // 4


class Wide(nn.Module):
    """A loss with large activations."""

    name, version = "wide", 1

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def collate(self, examples):
        return {"x": torch.ones(len(examples))}

    def forward(self, batch):
        return {"mean": (fill() * self.scale).mean()}

    def denominators(self, batch):
        return {"mean": 1}


class Faults(Progress):
    """Pages that are cleared in each step."""

    def __init__(self):
        self.so_far: list[int] = []

    @contextlib.contextmanager
    def task(self, name, total=None, *, log=None):
        yield lambda n=1: self.so_far.append(faults())


@glibc
def test_the_steps_of_a_training_are_made_in_the_memory_of_the_first_ones(tmp_path):
    told = Faults()
    rows = Rows({"index": index} for index in range(4))
    train(Wide(), rows, optimisation(max_steps=8), out=tmp_path, progress=told)
    assert fewest(told.so_far) < PAGES / 10  # three such arrays are alive at a time
