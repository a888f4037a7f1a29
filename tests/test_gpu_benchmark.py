"""The benchmark for GPUs: its jobs run without one, and it goes on where it was interrupted."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import gpu

    return gpu


@pytest.fixture
def chosen(gpu, tmp_path):
    return Namespace(out=tmp_path / "out", size="smallest", jobs=None, minutes=35, **gpu.SMALLEST)


def test_jobs_that_ended_are_not_run_again_and_failed_ones_are(gpu, chosen, monkeypatch):
    ran = []

    def run_one(name, *_, **__):
        ran.append(name)
        return [{"work": name, "failed": "out of luck"} if name == "rate b" else {"work": name}]

    monkeypatch.setattr(gpu, "jobs", lambda: dict.fromkeys(("check a", "rate b", "fits c")))
    monkeypatch.setattr(gpu, "run_one", run_one)
    monkeypatch.setattr(gpu, "circumstances", lambda: "here")
    first = gpu.run_all(chosen)
    assert gpu.run_all(chosen) == first
    assert ran == ["check a", "rate b", "fits c", "rate b"]
    monkeypatch.setattr(gpu, "circumstances", lambda: "elsewhere")
    gpu.run_all(chosen)
    assert ran[4:] == ["check a", "rate b", "fits c"]


def test_a_check_that_does_not_hold_is_an_exit_status(gpu, monkeypatch, capsys, tmp_path):
    found = {"check a": [{"compared": "x", "holds": "NO"}], "rate b": [{"work": "b"}]}
    monkeypatch.setattr(gpu, "run_all", lambda chosen: found)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path)])
    assert gpu.main() == 1
    found["check a"][0]["holds"] = "yes"
    assert gpu.main() == 0
    assert "On a GPU: rates" in capsys.readouterr().out


def test_no_time_left_is_told(gpu, chosen):
    [row] = gpu.run_one("rate b", chosen, left=3)
    assert row["failed"].startswith("no time was left")


@pytest.mark.parametrize("name", ["check attention", "check encoding", "check simlm"])
def test_a_check_holds_on_a_cpu(gpu, chosen, tmp_path, name):
    from gpu_checks import CHECKS

    rows = list(CHECKS[name](tmp_path, chosen))
    assert rows and all(row["holds"] == "yes" for row in rows)


def test_the_most_texts_are_found_where_memory_runs_out_in_either_way(gpu):
    import torch
    from gpu_models import most_that_fits

    from repro.training.process_group import OutOfMemory

    for error in (torch.OutOfMemoryError, OutOfMemory):

        def attempt(size, error=error):
            if size > 4:
                raise error

        assert most_that_fits(attempt, limit=64) == (4, False)
        assert most_that_fits(attempt, limit=2) == (2, True)


def test_a_peer_that_fails_is_a_row_of_its_own(gpu):
    from gpu_rates import beside

    def fails():
        raise RuntimeError("no kernel\nfor this")

    assert beside("encoding", "peer", fails) == {"work": "encoding", "tool": "peer: no kernel"}


def test_a_distance_beyond_its_bound_does_not_hold(gpu):
    from gpu_checks import row

    assert row("x", 0.2, 0.1)["holds"] == row("x", float("nan"), 0.1)["holds"] == "NO"


@pytest.mark.nightly
def test_all_jobs_run_to_the_end_without_a_gpu(tmp_path):
    command = [sys.executable, str(FOLDER / "gpu.py"), "--size", "smallest", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    written = [row for path in tmp_path.glob("*/*.json") for row in json.loads(path.read_text())]
    assert not [row for row in written if "failed" in row]
    assert len(list(tmp_path.glob("*/*.json"))) == 21
