"""Verbs that only look and judge load no library that only a measurement needs, and seek no garbage."""

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "pandas", "torch", "transformers", "matplotlib", "httpx", "httpx2", "regex"}
HEAVY |= {"datasets", "ranx", "ir_datasets", "beir", "pyserini", "faiss"}
VERBS = (
    "--help",
    "show",
    "show costa --table 1",
    "compare --all",
    "store gc",
    "audit",
    "plan --all --scale tiny",
    "audit claims",
)
TOLD = """
import atexit, gc, json, sys
from repro.cli import main
begun = []
gc.callbacks.append(lambda phase, info: begun.append(phase == "start"))
atexit.register(lambda: print(json.dumps([sum(begun), sorted(sys.modules)]), file=sys.stderr))
sys.argv[0] = "repro"
main()
"""


FILES = 60  # of the suite that a table made from committed records executes: may only fall


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what runs a verb on an empty store, and says how much garbage it sought and what it loaded."""
    for name in ("REPRO_STORE", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def searches_and_modules(*words):
        said = subprocess.run([sys.executable, "-c", TOLD, *words], capture_output=True, text=True)
        assert said.returncode in (0, 4), said.stderr
        return json.loads(said.stderr.splitlines()[-1])

    return searches_and_modules


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_computes_nothing_loads_no_library_that_does_and_seeks_no_garbage(verb, run):
    searches, modules = run(*verb.split())
    heavy = HEAVY - {"numpy", "scipy"} if verb == "audit claims" else HEAVY  # of tests between rows
    assert heavy.isdisjoint(modules) and searches < 5


def test_a_table_made_from_records_executes_no_code_that_runs_or_estimates_or_draws(run, tmp_path):
    _, modules = run("tables", "costa", "--table", "1", "--out", str(tmp_path))
    ours = {name for name in modules if name.partition(".")[0] == "repro"}
    idle = ("repro.running.engines", "repro.running.cost", "repro.writers.html", "repro.writers.figures")
    assert not [name for name in ours if name.startswith(idle)]
    assert len(ours) <= FILES


def test_without_records_to_judge_claims_load_no_quantiles(run, tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_RESULTS", str(tmp_path))
    _, modules = run("audit", "claims", "--format", "json")
    assert HEAVY.isdisjoint(modules)
