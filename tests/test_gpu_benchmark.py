"""The benchmark for GPUs: its jobs run without one, and it goes on where it was interrupted."""

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


def test_jobs_that_ended_are_not_run_again_and_failed_ones_are(gpu, chosen, monkeypatch):
    ran = []

    def run_one(name, chosen, results, *, left):
        ran.append(name)
        results.add(name, "began")
        results.add(
            name, "row", row={"work": name} | ({"failed": "out of luck"} if name == "other b" else {})
        )
        if name != "fits d":
            results.add(name, "ended")

    monkeypatch.setattr(gpu, "jobs", lambda: dict.fromkeys(("check a", "other b", "fits c", "fits d")))
    monkeypatch.setattr(gpu, "run_one", run_one)
    monkeypatch.setattr(gpu, "circumstances", lambda size: "here")
    first = gpu.run_all(chosen)
    assert gpu.run_all(chosen) == first
    assert ran == ["check a", "other b", "fits c", "fits d", "other b", "fits d"]
    assert "out of luck" in (chosen.out / "here" / "RESULTS.md").read_text()
    monkeypatch.setattr(gpu, "circumstances", lambda size: "elsewhere")
    gpu.run_all(chosen)
    assert ran[6:] == ["check a", "other b", "fits c", "fits d"]


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


def test_a_job_that_is_started_again_measures_the_tools_that_have_no_row(gpu, chosen):
    from gpu_rates import measured

    tools = dict.fromkeys(("ours", "theirs"), lambda: {"tokens a second": "7"})
    chosen.kept = {("encoding", "ours"), ("search", "theirs")}
    assert [row["tool"] for row in measured("encoding", tools, chosen)] == ["theirs"]


def test_a_failed_process_is_told_by_its_error_and_not_by_advice_behind_it(gpu):
    from gpu_results import told_error

    error = "torch.AcceleratorError: CUDA error: device-side assert triggered"
    advice = "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with TORCH_USE_CUDA_DSA"
    assert told_error(f"Traceback:\n  File\n{error}\n{advice}\n", 1) == error
    assert told_error("KeyError\n", 1) == "KeyError"
    assert told_error("loading\n", -9) == "ended by signal 9"
    caught = "RuntimeError: no kernel for this"
    assert told_error(f"{caught}\n", -9) == f"ended by signal 9; its last error: {caught}"
    assert told_error("libcuda is not there\n", 127) == "libcuda is not there"
    assert told_error("", 3) == "exit status 3, without a word"


def test_a_check_that_does_not_hold_is_an_exit_status(gpu, monkeypatch, capsys, tmp_path):
    found = {"check a": [{"compared": "x", "holds": "NO"}], "other b": [{"work": "b"}]}
    monkeypatch.setattr(gpu, "run_all", lambda chosen: found)
    monkeypatch.setattr(gpu, "show", lambda found: None)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path)])
    assert gpu.main() == 1
    assert "NOT WELL: {'compared': 'x'" in capsys.readouterr().err
    found["check a"][0]["holds"] = "yes"
    assert gpu.main() == 0


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ([], True),
        (["--size", "smallest"], False),
        (["--jobs", "check simlm"], False),
        (["--size", "smallest", "--jobs", "check simlm", "--write"], True),
    ],
)
def test_the_page_is_written_for_all_jobs_at_the_papers_shapes_or_where_asked(
    gpu, monkeypatch, tmp_path, options, written
):
    shown = []
    monkeypatch.setattr(gpu, "run_all", lambda chosen: {})
    monkeypatch.setattr(gpu, "has_gpu", lambda: True)
    monkeypatch.setattr(gpu, "show", shown.append)
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--out", str(tmp_path), *options])
    assert gpu.main() == 0 and bool(shown) == written


def test_a_job_hears_of_no_variable_of_the_suite(gpu, chosen, results, monkeypatch):
    given = []

    def run(command, *, env, **how):
        given.append(env)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setenv("REPRO_PADDING_FREE", "1")
    monkeypatch.setattr(gpu.subprocess, "run", run)
    gpu.run_one("other b", chosen, results, left=300)
    assert "PATH" in given[0] and not [name for name in given[0] if name.startswith("REPRO_")]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--minutes", "0"], "--minutes takes a number above 0, such as 35"),
        (["--minutes", "nan"], "--minutes takes a number above 0, such as 35"),
        (["--minutes", "ten"], "--minutes takes a number above 0, such as 35"),
        (["--jobs", "sesarch"], "no job's name contains 'sesarch'; there are check a, fits b"),
        (
            ["--out", __file__],
            f"--out: '{__file__}' cannot be a folder, since '{__file__}' is a file",
        ),
    ],
)
def test_a_wrong_option_is_told_in_a_sentence(gpu, monkeypatch, capsys, options, fault):
    monkeypatch.setattr(gpu, "jobs", lambda: dict.fromkeys(("check a", "fits b")))
    monkeypatch.setattr(sys, "argv", ["gpu.py", *options])
    with pytest.raises(SystemExit) as end:
        gpu.main()
    assert end.value.code == 2 and capsys.readouterr().err == f"gpu.py: {fault}\n"


def test_no_time_left_is_told_and_the_job_stays_to_be_run(gpu, chosen, results):
    gpu.run_one("other b", chosen, results, left=3)
    results.read()
    assert results.rows["other b"][0]["failed"].startswith("no time was left")
    assert not results.is_done("other b")


def test_the_order_names_jobs_and_every_job_has_a_section(gpu):
    known = list(gpu.jobs())
    assert tuple(known[: len(gpu.ORDER)]) == gpu.ORDER and len(known) == 32
    assert all(any(name.startswith(kind) for kind in gpu.SECTIONS) for name in known)


@pytest.mark.nightly
@pytest.mark.usefixtures("gpu")  # whose modules read the results
def test_all_jobs_run_to_the_end_without_a_gpu_though_killed_on_the_way(tmp_path):
    command = [*COMMAND, "--out", str(tmp_path)]
    first = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    ended = [first.stderr.readline() for _ in range(2)]
    first.send_signal(signal.SIGKILL)
    first.wait()
    with pytest.raises(ProcessLookupError):  # its job goes with it
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
    assert len(records) == 4 and all(record["section"] in page.read_text() for record in records)
