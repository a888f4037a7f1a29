"""Killed anywhere, a run continues, by two at once, to the undisturbed scores."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time

from repro.cli import main
from tests.killed import KILLS
from tests.two_processes import PRELOADED

CELL = ("run", "costa/1/bm25neg.costa/dev.rr10", "--scale", "tiny", "--format", "json")
# Then the pre-training is killed, too; on every push tests/retrieval/stages/test_killed_trainings.py does it
AT_NIGHT = KILLS > 2


def _run(store, results, said):
    os.environ |= {"REPRO_STORE": str(store), "REPRO_RESULTS": str(results), "REPRO_SAVE_STEPS": "25"}
    for number, file in ((1, said), (2, said.with_suffix(".err"))):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["repro", *CELL]
    sys.exit(main())


def _start(store, results, name="out"):
    """Fork from a process that has imported what a training needs: each would take seconds for it."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    child = server.Process(target=_run, args=(store, results, store.with_name(name)))
    child.start()
    return child


def _artefacts(store, stages=("pretrain", "finetune", "search", "evaluate")):
    files = [p for s in stages for p in (store / s).rglob("*") if p.is_file()]
    skipped = ("artefact.json", "train_log.jsonl")
    return {str(p.relative_to(store)): p.read_bytes() for p in files if p.name not in skipped}


def _without_its_own_work(table, store):
    shutil.copytree(table.store, store)
    for stage in ("finetune", "encode", "search", "evaluate"):
        shutil.rmtree(store / stage)
    for record in store.glob("pretrain/*/artefact.json") if AT_NIGHT else ():
        if json.loads(record.read_text())["identity"]["params"]["objective"]["name"] == "costa":
            shutil.rmtree(record.parent)


def _killed_in(stage, store, results) -> bool:
    child = _start(store, results)
    while child.is_alive():
        if any(store.glob(f"{stage}/*.partial/**/checkpoint-*")):
            child.kill()
            break
        time.sleep(0.01)
    child.join()
    return child.exitcode == -signal.SIGKILL


def test_killed_in_its_trainings_and_continued_by_two_at_once_it_ends_with_the_same_bytes(table, tmp_path):
    draw = random.Random(20221)
    _without_its_own_work(table, tmp_path / "s")
    if AT_NIGHT:
        assert _killed_in("pretrain", tmp_path / "s", tmp_path / "r")
    for _ in range(KILLS - 2):
        child = _start(tmp_path / "s", tmp_path / "r")
        child.join(draw.uniform(0.3, 4.5))
        child.kill()
        child.join()
    killed = _killed_in("finetune", tmp_path / "s", tmp_path / "r")
    assert killed or AT_NIGHT  # then all may be done by now
    children = [_start(tmp_path / "s", tmp_path / "r", name) for name in ("first", "second")]
    for child in children:
        child.join(1200)
    errors = [(tmp_path / f"{name}.err").read_text() for name in ("first", "second")]
    assert [child.exitcode for child in children] == [0, 0], errors
    assert (tmp_path / "first").read_text() == (tmp_path / "second").read_text()
    ours, theirs = _artefacts(tmp_path / "s"), _artefacts(table.store)
    assert ours
    assert {name for name in ours if ours[name] != theirs[name]} == set()
