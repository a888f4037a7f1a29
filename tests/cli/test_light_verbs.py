"""Verbs that only look and judge load no library that only a measurement needs, and seek no garbage."""

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "pandas", "torch", "transformers", "matplotlib", "httpx", "httpx2", "regex"}
VERBS = (
    "show",
    "show costa --table 1",
    "compare --all",
    "plan --all",
    "store gc",
    "audit",
    "plan costa",
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


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_computes_nothing_loads_no_library_that_does_and_seeks_no_garbage(
    verb, tmp_path, monkeypatch
):
    for name in ("REPRO_STORE", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    said = subprocess.run([sys.executable, "-c", TOLD, *verb.split()], capture_output=True, text=True)
    assert said.returncode in (0, 4), said.stderr
    searches, modules = json.loads(said.stderr.splitlines()[-1])
    with_quantiles = verb in ("compare --all", "audit claims")  # Student's, of intervals and of marks
    heavy = HEAVY - {"numpy", "scipy"} if with_quantiles else HEAVY
    assert heavy.isdisjoint(modules) and searches < 5
