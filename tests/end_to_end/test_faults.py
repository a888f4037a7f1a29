"""Rows of a table killed at fifty random moments end with the undisturbed scores; takes fifteen minutes."""

import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

KILLS = 50
LONGEST_LIFE = 18.0  # seconds; a process needs some three to import what it trains with

pytestmark = pytest.mark.skipif(
    os.environ.get("REPRO_SLOW_TESTS") != "1", reason="takes fifteen minutes; set REPRO_SLOW_TESTS=1"
)


def _attempt(selection, root, seconds):
    variables = {"REPRO_STORE": root / "s", "REPRO_RESULTS": root / "r", "REPRO_SAVE_STEPS": "25"}
    with (root / "said").open("w") as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "repro", "run", *selection, "--format", "json"],
            env={**os.environ, **{name: str(value) for name, value in variables.items()}},
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # a Java machine that it started, too
            child.wait()
    return child.returncode, (root / "said").read_text()


def _stage(said):
    begun = re.findall(r"^\[\d+/\d+\] (?:.*: )?(\w+)", said, re.MULTILINE)
    return begun[-1] if begun else "planning"


def _bytes(store):
    files = [p for s in ("evaluate", "search", "bm25", "finetune") for p in (store / s).rglob("*")]
    skipped = ("artefact.json", "train_log.jsonl", "lucene.log")
    return {str(p.relative_to(store)): p.read_bytes() for p in files if p.is_file() and p.name not in skipped}


def test_killed_at_fifty_random_moments_a_table_ends_with_the_undisturbed_scores(table, tmp_path):
    draw, killed, rounds = random.Random(50), Counter(), 0
    truth = _bytes(table.store)
    while killed.total() < KILLS:
        rounds += 1
        root = tmp_path / str(rounds)
        root.mkdir()
        status = -signal.SIGKILL
        while status == -signal.SIGKILL:
            left = KILLS - killed.total()
            status, said = _attempt(table.selection, root, draw.uniform(0.2, LONGEST_LIFE) if left else None)
            if status == -signal.SIGKILL:
                killed[_stage(said)] += 1
                print(f"killed {killed.total()}: round {rounds}, {_stage(said)}", flush=True)
        assert status == 0, said
        ours = _bytes(root / "s")
        assert set(ours) == set(truth) and any(name.endswith("scores.json") for name in ours)
        assert {name for name in ours if ours[name] != truth[name]} == set()
        print(f"round {rounds}: {len(ours)} files equal the undisturbed ones", flush=True)
    print(f"{KILLS} kills in {rounds} rounds, by stage at work: {dict(killed.most_common())}")
