"""Verbs that only look and judge load no library for measurements and collect no garbage."""

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "pandas", "torch", "transformers", "matplotlib", "httpx", "httpx2", "regex"}
HEAVY |= {"datasets", "ranx", "ir_datasets", "beir", "pyserini", "faiss"}
VERBS = (
    *("--help", "show", "show costa --table 1", "compare costa simlm", "store gc", "audit"),
    *("plan --all --scale tiny", "audit claims"),
)
TOLD = """
import gc, json, sys
from repro.cli import main
begun, told = [], []
gc.callbacks.append(lambda phase, info: begun.append(phase == "start"))
for words in sys.argv[1:]:
    begun.clear()
    sys.argv = ["repro", *words.split()]
    try:
        main()
    except SystemExit as left:
        told.append([words, left.code, sum(begun), sorted(sys.modules)])
print(json.dumps(told), file=sys.stderr)
"""
FILES = 62  # of the suite that a table made from committed records executes


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``run(*lines)`` in one process on an empty store: the garbage each sought, and the modules so far."""
    for name in ("REPRO_STORE", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def searches_and_modules(*lines):
        said = subprocess.run([sys.executable, "-c", TOLD, *lines], capture_output=True, text=True)
        told = json.loads(said.stderr.splitlines()[-1])
        assert [words for words, *_ in told] == [*lines]
        assert {status for _, status, *_ in told} <= {0, 4}, said.stderr
        return {words: rest for words, _, *rest in told}

    return searches_and_modules


def test_a_verb_that_computes_nothing_loads_no_library_that_does_and_seeks_no_garbage(run):
    for verb, (searches, modules) in run(*VERBS).items():
        heavy = HEAVY - {"numpy", "scipy"} if verb == "audit claims" else HEAVY
        assert heavy.isdisjoint(modules) and searches < 5, verb


def test_a_table_made_from_records_executes_no_code_that_runs_or_estimates_or_draws(run, tmp_path):
    [(_, modules)] = run(f"tables costa --table 1 --out {tmp_path}").values()
    ours = {name for name in modules if name.partition(".")[0] == "repro"}
    idle = ("repro.running.engines", "repro.running.cost", "repro.writers.html", "repro.writers.figures")
    assert not [name for name in ours if name.startswith(idle)]
    assert len(ours) <= FILES
