"""The benchmark for GPUs runs without one and can be interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
COMMAND = [sys.executable, str(FOLDER / "gpu.py"), "--size", "smallest"]


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import gpu

    return gpu


@pytest.fixture
def chosen(gpu, tmp_path):
    return Namespace(out=tmp_path / "out", size="smallest", jobs=None, minutes=35, kept=set(), **gpu.SMALLEST)


@pytest.fixture
def results(gpu, tmp_path):
    from gpu_results import Results

    return Results(tmp_path / "results.jsonl")


def rows_of(folder: Path) -> dict[str, list[dict]]:
    from gpu_results import Results

    [path] = folder.glob("*/results.jsonl")
    return Results(path).rows


def test_rows_before_a_kill_are_kept_and_a_torn_line_costs_no_other(results):
    from gpu_results import Results

    results.add("a", "began")
    results.add("a", "row", row={"work": "w", "tool": "x", "n": 1})
    with open(results.path, "a") as file:
        file.write('{"job": "a", "what": "ro')
    again = Results(results.path)
    assert [row["n"] for row in again.rows["a"]] == [1] and not again.ended
    again.add("a", "row", row={"work": "w", "tool": "y", "n": 2})
    again.add("a", "row", row={"work": "a", "failed": "did not end within 300 s"})
    again.add("a", "began")
    again.read()
    assert [row["n"] for row in again.rows["a"]] == [1, 2]
    assert again.measured("a") == {("w", "x"), ("w", "y")}
    again.add("a", "row", row={"work": "w", "tool": "x", "n": 3})
    again.add("a", "ended")
    again.read()
    assert [row["n"] for row in again.rows["a"]] == [3, 2] and again.is_done("a")


def test_a_check_that_does_not_hold_is_an_exit_status(gpu, monkeypatch, capsys, tmp_path):
    found = {"check a": [{"compared": "x", "holds": "NO"}], "other b": [{"work": "b"}]}
    monkeypatch.setattr(gpu, "run_all", lambda chosen: found)
    monkeypatch.setattr(gpu, "show", lambda found: None)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path)])
    assert gpu.main() == 1
    assert "NOT WELL: {'compared': 'x'" in capsys.readouterr().err
    found["check a"][0]["holds"] = "yes"
    assert gpu.main() == 0


def test_the_order_names_jobs_and_every_job_has_a_section(gpu):
    known = list(gpu.jobs())
    assert tuple(known[: len(gpu.ORDER)]) == gpu.ORDER and len(known) == 32
    assert all(any(name.startswith(kind) for kind in gpu.SECTIONS) for name in known)


@pytest.mark.nightly
@pytest.mark.usefixtures("gpu")
def test_all_jobs_run_to_the_end_without_a_gpu_though_killed_on_the_way(tmp_path):
    command = [*COMMAND, "--out", str(tmp_path)]
    first = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    ended = [first.stderr.readline() for _ in range(2)]
    first.send_signal(signal.SIGKILL)
    first.wait()
    with pytest.raises(ProcessLookupError):
        for _ in range(300):
            os.killpg(first.pid, 0)
            time.sleep(0.1)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ended[0].split(":")[0] not in [line.split(":")[0] for line in done.stderr.splitlines()]
    found = rows_of(tmp_path)
    assert len(found) == 30 and all(found.values())
    assert not [row for rows in found.values() for row in rows if "failed" in row]
    page = next(tmp_path.glob("*/RESULTS.md"))
    records = [json.loads(path.read_text()) for path in (page.parent / "records").glob("*.json")]
    assert len(records) == 4 and all(r["section"] in page.read_text() for r in records)
