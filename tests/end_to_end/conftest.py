"""Some rows of one table, run once for all tests that look at what they left."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from repro.api import select
from repro.store import Store
from tests.once import made_once, take_what_is_finished

ROWS = ("bm25", "deepct", "bert", "costa", "untrained", "no-pre-training")


@dataclass(frozen=True)
class Ran:
    store: Path
    results: Path
    stdout: str
    selection: tuple[str, ...]

    @property
    def cells(self):
        return json.loads(self.stdout)


def repro(*arguments, store, results, data=None, **environment):
    variables = {
        **os.environ,
        "REPRO_STORE": str(store),
        "REPRO_RESULTS": str(results),
        "HF_HUB_OFFLINE": "1",
    }
    variables |= {"REPRO_DATA": str(data)} if data else {}
    variables |= environment
    command = [sys.executable, "-m", "repro", *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=1200)


@pytest.fixture(scope="session")
def command_line():
    return repro


@pytest.fixture
def told(monkeypatch):
    """``told(*words, store, results)`` is what a command that trains nothing leaves, here in this process."""
    from tests.end_to_end import commands

    def call(*words, store, results):
        monkeypatch.setenv("REPRO_STORE", str(store))
        monkeypatch.setenv("REPRO_RESULTS", str(results))
        return commands.repro(*words)

    yield call
    commands.forget()


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    rows = [word for row in ROWS for word in ("--row", row)]
    selection = ("costa", "--table", "1", *rows, "--scale", "tiny")

    def make(root: Path) -> None:
        nodes = select("costa/1", rows=ROWS, scale="tiny").plan().nodes
        take_what_is_finished(nodes, Store(root / "s"))
        done = repro("run", *selection, "--format", "json", store=root / "s", results=root / "r")
        assert done.returncode == 0, done.stderr
        (root / "cells.json").write_text(done.stdout)

    root = made_once(tmp_path_factory, "table", make)
    return Ran(root / "s", root / "r", (root / "cells.json").read_text(), selection)
