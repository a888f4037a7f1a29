import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from repro.errors import BlockedError, StageError
from repro.progress import Progress, TerminalProgress
from repro.running.engines import child, local
from repro.running.engines.child import command
from repro.running.engines.inline import ensure
from repro.running.engines.shared_work import SHARED
from repro.running.runner import Options
from repro.stage_table import SEARCHES, STAGES
from repro.store import Store
from tests.running.engines.conftest import told

pytestmark = pytest.mark.usefixtures("pretended")


class Lines(Progress):
    def __init__(self):
        self.lines, self.done = [], []

    def begins(self, piece, whole=None):
        self.lines.append(piece)

    def ends(self, piece, how, whole=None, *, why=""):
        self.done.append(whole.done)
        self.lines += [why] if why else []


def _at_once(lines) -> int:
    most = now = 0
    for word, *_ in lines:
        now += 1 if word == "start" else -1
        most = max(most, now)
    return most


def test_everything_runs_once_after_its_inputs_and_no_more_at_a_time_than_asked(make, store, monkeypatch):
    monkeypatch.setenv("LAST", "0.1")
    plan, progress = make(("bm25",)), Lines()
    outcome = local.execute(plan, store, progress, Options(jobs=2))
    assert {n.fingerprint for n in outcome.run} == {n.fingerprint for n in plan.nodes}
    assert not outcome.failed and not outcome.blocked
    assert all(store.state(node) == "stored" for node in plan.nodes)
    lines = told(store)  # a child whose inputs are missing fails, and would be in outcome.failed
    assert len(lines) == 2 * len(plan.nodes) and _at_once(lines) == 2
    assert len(progress.lines) == len(plan.nodes) and progress.done == [*range(1, len(plan.nodes) + 1)]
    assert local.execute(plan, store, progress, Options(jobs=2)).run == []
    assert not list((store.root / "logs").iterdir())


def test_one_job_keeps_the_plans_order_and_what_a_stage_says_of_itself_is_told(
    make, store, monkeypatch, capsys
):
    monkeypatch.setenv("LAST", "0.2")
    plan = make(("bm25",))
    outcome = local.execute(plan, store, TerminalProgress(interval=0.0), Options(jobs=1))
    assert [n.fingerprint for n in outcome.run] == [n.fingerprint for n in plan.nodes]
    lines = capsys.readouterr().err.splitlines()
    for node in plan.nodes:
        [told] = [line for line in lines if f"{node.stage}-{node.fingerprint[:12]}" in line]
        assert re.fullmatch(r".*: (under way|\d+ of 9) \(log: .*\.err\)", told)
    assert any(line.endswith(": 5 of 9") for line in lines)


@pytest.mark.parametrize("word", ["FAIL", "BLOCK"])
def test_failures_and_obstacles_end_as_on_the_inline_engine(make, store, tmp_path, monkeypatch, word):
    def inline(node, store, progress):
        if node.stage == "queries" and word == "FAIL":
            raise StageError("queries failed on purpose")
        if node.stage == "queries":
            raise BlockedError("nothing here", "get it")
        return store.build(node, lambda directory: None)

    plan, other = make(("bm25",)), Store(tmp_path / "other")
    expected = ensure(plan.ends, other, Progress(), machine=plan.machine, run=inline)
    monkeypatch.setenv(word, "queries")
    progress = Lines()
    found = local.execute(make(("bm25",)), store, progress, Options(jobs=3))
    assert {n.fingerprint for n in found.run} == {n.fingerprint for n in expected.run} != set()
    assert {k: str(e) for k, e in found.failed.items()} == {k: str(e) for k, e in expected.failed.items()}
    assert found.blocked == expected.blocked
    assert bool(found.failed) == (word == "FAIL") and bool(found.blocked) == (word == "BLOCK")
    failures = sum(node.stage == "queries" for node in make(("bm25",)).nodes)
    assert sum("failed" in line for line in progress.lines) == (failures if word == "FAIL" else 0)


def test_a_child_that_dies_without_a_word_is_told_with_its_log(make, store, monkeypatch):
    monkeypatch.setenv("KILL", "corpus")
    outcome = local.execute(make(("bm25",)), store, Progress(), Options(jobs=2))
    sentences = set(map(str, outcome.failed.values()))
    assert len(sentences) == 1
    [sentence] = sentences
    assert "was ended by SIGKILL, perhaps out of memory," in sentence
    assert sentence.endswith(".err)") and os.path.exists(sentence.rpartition("log: ")[2][:-1])
    assert {n.stage for n in outcome.run} == {"queries", "qrels"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_interrupted_it_ends_its_children_and_the_next_run_continues(make, store, monkeypatch, number):
    monkeypatch.setenv("HANG", "corpus")

    def interrupt():
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(line[1] == "corpus" for line in told(store)):
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        local.execute(make(("bm25",)), store, Progress(), Options(jobs=3))
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
    processes = {int(line[3]) for line in told(store) if line[1] == "corpus"}
    assert processes and not any(map(psutil.pid_exists, processes))
    monkeypatch.delenv("HANG")
    plan = make(("bm25",))
    local.execute(plan, store, Progress(), Options(jobs=3))
    assert all(store.state(n) == "stored" for n in plan.nodes)


def test_a_second_signal_leaves_no_child_that_does_not_heed_the_first(make, store, monkeypatch):
    monkeypatch.setattr(child, "PATIENCE", 1)
    for word in ("HANG", "DEAF"):
        monkeypatch.setenv(word, "corpus queries")

    def interrupt():
        until = time.monotonic() + 60
        while time.monotonic() < until and len(_deaf(store)) < 2:
            time.sleep(0.05)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)
            time.sleep(0.2)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        local.execute(make(("bm25",)), store, Progress(), Options(jobs=3))
    thread.join()
    assert len(_deaf(store)) >= 2 and not any(map(psutil.pid_exists, _deaf(store)))


def _deaf(store) -> set[int]:
    return {int(line[3]) for line in told(store) if line[0] == "deaf"}


KILLED = """
import os, signal, sys, time
from pathlib import Path
from repro.graph import Node
from repro.running.engines import child
from repro.store import Store
root = Path(sys.argv[1])
child.command = lambda node, store, **options: [sys.executable, "-c", sys.argv[2], str(root)]
child.Child(Node("corpus", {"dataset": "x"}), Store(root), threads=1, gpus=None)
while not (root / "stage").exists():
    time.sleep(0.02)
os.kill(os.getpid(), signal.SIGKILL)
"""
LASTING = """
import os, subprocess, sys, time
from pathlib import Path
from repro.running.engines import child
child.end_with_parent()
assert sys.stdin.read() == "", "a question is answered by nothing, and waits for nobody"
started = subprocess.Popen(["sh", "-c", "trap : TERM; sleep 99"])
scratch = Path(sys.argv[1], "scratch")
scratch.write_text(f"{os.getpid()} {started.pid}")
scratch.rename(scratch.with_name("stage"))
time.sleep(99)
"""


def test_a_stage_ends_with_all_that_it_started_when_its_engine_is_killed(tmp_path):
    engine = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), LASTING], timeout=120)
    assert engine.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in (tmp_path / "stage").read_text().split()]
    until = time.monotonic() + 60
    while any(map(_runs, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in pids if _runs(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def _runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def test_what_a_stage_says_is_not_written_through_a_link(make, store, tmp_path):
    node, victim = make(("bm25",)).nodes[0], tmp_path / "victim"
    victim.write_text("mine")
    log = store.log(node).with_suffix(f".{os.getpid()}.err")
    log.parent.mkdir(parents=True)
    log.symlink_to(victim)
    started = child.Child(node, store, threads=1, gpus=None)
    started.process.wait()
    assert victim.read_text() == "mine" and not log.is_symlink()


def test_what_was_ignored_before_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with child.interruptions() as received:
            os.kill(os.getpid(), signal.SIGHUP)
        assert not received and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_module_of_the_working_folder_is_not_taken_for_a_library(make, tmp_path):
    (tmp_path / "click.py").write_text("raise SystemExit('the wrong click')")
    node = make(("bm25",)).nodes[0]
    environment = {**os.environ, "PYTHONPATH": child.import_path()}
    line = command(node, Store(tmp_path / "empty"))
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stderr.startswith("repro: no stage planned with this store has a fingerprint")


def test_a_training_is_a_process_on_each_of_its_gpus_and_a_search_one_on_all(make, store, monkeypatch):
    monkeypatch.setattr(local, "gpus", lambda: ["0", "1", "2"])
    pretended, processes = child.command, {}

    def noted(node, store, *, processes: int, told=processes):
        told[node.fingerprint] = processes
        return pretended(node, store)

    monkeypatch.setattr(child, "command", noted)
    plan = make(("hardneg.bert",))
    outcome = local.execute(plan, store, Progress(), Options(jobs=4, gpus_per_stage=2))
    assert not outcome.failed and len(outcome.run) == len(plan.nodes)
    free, shared, alone = {"0", "1", "2"}, set(), set()
    for word, stage, fingerprint, _, gpu in told(store):
        own = set() if gpu == "none" else set(gpu.split(","))
        wanted = 2 if stage in (*SHARED, *SEARCHES) else 1 if STAGES[stage].heavy else 0
        assert len(own) == wanted and processes[fingerprint] == (2 if stage in SHARED else 1)
        if word == "start":
            assert own <= free
        free = free - own if word == "start" else free | own
        (shared if wanted == 2 else alone).add(stage)
    assert {"finetune", "encode"} <= shared and alone and free == {"0", "1", "2"}


def test_what_one_of_several_processes_said_is_told_whatever_torchrun_ends_with(make, store):
    ended = child.Child(make(("bm25",)).nodes[0], store, threads=1, gpus=None, processes=2)
    ended.process.wait()
    ended.log.write_text("repro: no memory is left\nsomething of the launcher's\n")
    ended.process = SimpleNamespace(returncode=1)
    assert ended.result() == "no memory is left"
    ended.processes = 1
    ended.log.write_text("repro: no memory is left\n")
    assert "ended with status 1 without a message" in ended.result()


def test_gpus_are_those_that_are_visible(monkeypatch):
    monkeypatch.setattr(local, "gpu", lambda: ["a", "b"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert local.gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, GPU-5f")
    assert local.gpus() == ["2", "GPU-5f"]
    monkeypatch.setattr(local, "gpu", lambda: None)
    assert local.gpus() == []


def test_a_torn_note_of_a_stored_input_is_written_anew(make, store):
    plan = make(("bm25",))
    local.execute(plan, store, Progress(), Options(jobs=2))
    corpus = next(n for n in plan.nodes if n.stage == "corpus")
    (store.root / "nodes" / f"{corpus.fingerprint}.json").write_text('{"stage": ')
    ended = next(n for n in plan.nodes if n.stage == "evaluate")
    store.discard(ended)
    outcome = local.execute(plan, store, Progress(), Options(jobs=2))
    assert [n.fingerprint for n in outcome.run] == [ended.fingerprint] and not outcome.failed


def test_how_many_run_at_once_follows_from_cores_threads_and_gpus(make, monkeypatch):
    plan = make(("bm25",))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(local, "cores", lambda: 8)
    monkeypatch.setattr(local, "gpus", lambda: [])
    assert local.default_jobs(plan) == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert local.default_jobs(plan) == 2
    monkeypatch.setattr(local, "gpus", lambda: ["0", "1", "2", "3"])
    assert local.default_jobs(plan) == 5
    assert local.default_jobs(plan, 2) == 3 and local.default_jobs(plan, 4) == 2
