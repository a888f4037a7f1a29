"""Plans for engines, with stages that only report themselves."""

import sys

import pytest

from repro.manifest.cells import select
from repro.running.engines import child, local
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store

# In place of `repro stage`: an empty artefact, or what FAIL, BLOCK, KILL, HANG, DEAF (stage names) say.
STAGE = """
import os, signal, sys, time
from pathlib import Path
from repro.store import Store
fingerprint, root = sys.argv[1:]
store = Store(Path(root))
node = store.remembered(fingerprint)
told = lambda word: node.stage in os.environ.get(word, "").split()
def tell(word):
    with open(store.root / "told", "a") as file:
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "-") or "none"
        file.write(f"{word} {node.stage} {fingerprint} {os.getpid()} {gpu}\\n")
tell("start")
print("  5 of 9", file=sys.stderr, flush=True)
assert all(store.state(parent) == "stored" for parent in node.parents()), "an input is missing"
if told("DEAF"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell("deaf")
if told("HANG"):
    time.sleep(60)
time.sleep(float(os.environ.get("LAST", "0")))
if told("KILL"):
    os.kill(os.getpid(), signal.SIGKILL)
if told("BLOCK"):
    print("a warning\\nrepro: nothing here; get it", file=sys.stderr)
    sys.exit(4)
if told("FAIL"):
    print(f"repro: {node.stage} failed on purpose", file=sys.stderr)
    sys.exit(3)
store.build(node, lambda directory: None)
tell("end")
"""


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def make():
    def build(rows=("bm25", "bert"), at="tiny"):
        cells = select(("costa",), tables=("1",), rows=rows, cells=())
        return plan(cells[:2] if len(rows) == 1 else cells, scale=scale(at), machine=Machine())

    return build


@pytest.fixture
def pretended(monkeypatch):
    """Every stage is a child of its own, which runs ``STAGE`` instead."""

    def command(node, store, python=sys.executable, *, processes=1):
        return [python, "-c", STAGE, node.fingerprint, str(store.root)]

    monkeypatch.setattr(child, "command", command)
    monkeypatch.setattr(local, "STAY", False)


def told(store) -> list[list[str]]:
    """What the children said, in order: start or end, stage, fingerprint, process, GPUs."""
    path = store.root / "told"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []
