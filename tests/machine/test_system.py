import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.machine import system


@pytest.fixture
def no_gpu_in_proc(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(system, "_gpus_by_proc", list)


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_gpus_are_named_with_their_memory(tmp_path, monkeypatch, no_gpu_in_proc):
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA H200, 143771 MiB"; echo "NVIDIA H200, 143771 MiB"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system.gpu() == ["NVIDIA H200, 143771 MiB"] * 2


def test_a_gpu_hidden_from_torch_does_not_count(tmp_path, monkeypatch, no_gpu_in_proc):
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA H200, 143771 MiB"')
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert system.gpu() is None


def test_a_driver_that_fails_is_no_gpu(tmp_path, monkeypatch, no_gpu_in_proc):
    program(tmp_path, "nvidia-smi", 'echo "NVIDIA-SMI has failed"; exit 9')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system.gpu() is None


def test_without_nvidia_smi_the_kernel_is_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system, "_gpus_by_proc", lambda: ["NVIDIA A100"])
    assert system.gpu() == ["NVIDIA A100"]


def test_free_space_is_told_for_a_folder_yet_to_be_made(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or SimpleNamespace(free=1))
    assert system.disk_free(tmp_path / "to" / "be" / "made") == 1
    assert asked == [tmp_path]


def test_cores_are_those_this_process_may_use():
    assert 1 <= system.cores() <= os.cpu_count()


def test_hardware_is_a_record_json_can_hold():
    record = json.loads(json.dumps(system.hardware()))
    assert list(record) == ["cpu", "instructions", "architecture", "cores", "memory_gib", "gpu", "system"]
    assert record["memory_gib"] > 0
