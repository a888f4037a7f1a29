"""Killed anywhere, a run continues; two at once finish; the scores are those of an undisturbed run."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys

from tests.killed import KILLS

CELL = ("run", "--cell", "costa/1/bm25neg.costa/dev.rr10", "--scale", "tiny", "--json")


def _start(store, results):
    variables = {
        **os.environ,
        "REPRO_STORE": str(store),
        "REPRO_RESULTS": str(results),
        "REPRO_SAVE_STEPS": "25",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "repro", *CELL],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _artefacts(store, stages=("pretrain", "finetune", "search", "evaluate")):
    """The bytes of everything that the stages left, but for facts such as seconds."""
    files = [p for s in stages for p in (store / s).rglob("*") if p.is_file()]
    skipped = ("artefact.json", "train_log.jsonl")
    return {str(p.relative_to(store)): p.read_bytes() for p in files if p.name not in skipped}


def _without_its_own_work(table, store):
    """A copy of the store without COSTA's pre-training and all that follows one."""
    shutil.copytree(table.store, store)
    for stage in ("finetune", "encode", "search", "evaluate"):
        shutil.rmtree(store / stage)
    for record in store.glob("pretrain/*/artefact.json"):
        if json.loads(record.read_text())["identity"]["params"]["objective"]["name"] == "costa":
            shutil.rmtree(record.parent)


def test_killed_at_random_moments_and_continued_by_two_at_once_it_ends_with_the_same_bytes(table, tmp_path):
    draw = random.Random(20221)
    _without_its_own_work(table, tmp_path / "s")
    kills = 0
    for _ in range(KILLS):
        child = _start(tmp_path / "s", tmp_path / "r")
        try:
            child.communicate(timeout=draw.uniform(0.3, 4.5))  # such pieces are less than the whole work
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.communicate()
            kills += 1
    children = [_start(tmp_path / "s", tmp_path / "r") for _ in range(2)]
    outs = [child.communicate(timeout=1200) for child in children]
    assert kills == KILLS
    assert [child.returncode for child in children] == [0, 0], [err for _, err in outs]
    assert outs[0][0] == outs[1][0]
    ours, theirs = _artefacts(tmp_path / "s"), _artefacts(table.store)
    assert ours
    assert {name for name in ours if ours[name] != theirs[name]} == set()
