"""Verbs that only look and judge load no library that only a measurement needs."""

import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "pandas", "torch", "transformers", "matplotlib", "httpx", "httpx2", "requests"}
VERBS = ("list", "compare --all", "plan --all", "gc", "audit", "status", "claims")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_computes_nothing_loads_no_library_that_does(verb, tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    code = (
        "import atexit, sys; from repro.cli import main; sys.argv[0] = 'repro'\n"
        f"atexit.register(lambda: print(*sorted({HEAVY} & sys.modules.keys()), file=sys.stderr)); main()"
    )
    told = subprocess.run([sys.executable, "-c", code, *verb.split()], capture_output=True, text=True)
    assert told.returncode in (0, 4), told.stderr
    assert told.stderr.splitlines()[-1] == ""
