from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from repro.machine import system
from repro.progress import Progress
from repro.retrieval.training.loop import train
from tests.stage_inputs import Rows, optimisation


@pytest.fixture
def no_gpu_in_proc(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(system, "_gpus_by_proc", list)


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_gpu_hidden_from_torch_does_not_count(tmp_path, monkeypatch, no_gpu_in_proc):
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA H200, 143771 MiB"')
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert system.gpu() is None


def test_hardware_is_a_record_json_can_hold():
    record = json.loads(json.dumps(system.hardware()))
    assert list(record) == ["cpu", "instructions", "architecture", "cores", "memory_gib", "gpu", "system"]
    assert record["memory_gib"] > 0


HOLD_AND_LET_GO = """
from repro.machine.system import PeakMemory

before = PeakMemory().kib()
held = bytearray(200_000_000)
held[::4096] = b"x" * len(held[::4096])
whole = PeakMemory().kib()
del held
print(before, whole, PeakMemory().kib())
"""


def test_a_peak_is_that_since_it_began():
    # a process of its own: in one with threads, another may free memory just as the peak begins anew
    ran = subprocess.run([sys.executable, "-c", HOLD_AND_LET_GO], capture_output=True, text=True, check=True)
    before, whole, after = map(int, ran.stdout.split())
    assert whole > before + 150_000
    assert after < whole - 150_000


LARGE = 48 << 20  # bytes: more than glibc keeps by itself
PAGES = LARGE // resource.getpagesize()
glibc = pytest.mark.skipif(system._glibc() is None, reason="another C library")


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def fill(_=None) -> torch.Tensor:
    return torch.empty(LARGE // 4).fill_(1.0)


def fewest(so_far: list[int]) -> int:
    return min(after - before for before, after in pairwise(so_far))


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

    def save(self, folder):
        pass


class Faults(Progress):
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


def test_gpus_are_named_with_their_memory(tmp_path, monkeypatch, no_gpu_in_proc):
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA H200, 143771 MiB"; echo "NVIDIA H200, 143771 MiB"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system.gpu() == ["NVIDIA H200, 143771 MiB"] * 2
