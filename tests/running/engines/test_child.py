import os
import signal
import time
from types import SimpleNamespace

import pytest

from repro.progress import Progress
from repro.running.engines import fitting, local
from repro.running.engines.child import Workers
from repro.running.runner import Options

LIGHT = ("corpus", "queries", "qrels")


@pytest.fixture
def workers(store):
    pool = Workers(store, threads=1)
    yield pool
    pool.close()


def _wait(errand):
    until = time.monotonic() + 120
    while not errand.ended() and time.monotonic() < until:
        time.sleep(0.02)
    return errand.result()


def test_one_process_goes_on_after_artefacts_and_refusals_and_is_replaced_when_killed(workers, store, make):
    nodes = make(("bm25",)).nodes
    light = [n for n in nodes if n.stage in LIGHT]
    needs_others = next(n for n in nodes if n.inputs)
    store.remember(nodes)
    processes = set()
    for node in (needs_others, *light):
        errand = workers.begin(node)
        processes.add(errand.process.pid)
        refusal = _wait(errand)
        assert refusal is None or (node is needs_others and "(missing) in the store" in refusal)
        assert (store.state(node) == "stored") is (node is not needs_others)
        workers.release(errand)
    assert len(processes) == 1 and not list((store.root / "logs").iterdir())

    os.killpg(processes.pop(), signal.SIGSTOP)  # so that it cannot answer first
    errand = workers.begin(light[0])
    os.killpg(errand.process.pid, signal.SIGKILL)
    assert "was ended by SIGKILL" in _wait(errand)
    workers.release(errand)
    other = workers.begin(light[0])
    assert other.process.pid != errand.process.pid and _wait(other) is None
    workers.release(other)
    workers.close()
    assert other.process.poll() is not None


def test_a_process_ends_when_its_engine_is_gone(workers, store, make):
    nodes = make(("bm25",)).nodes
    store.remember(nodes)
    errand = workers.begin(nodes[0])
    errand.process.stdin.close()
    assert errand.process.wait(60) == -signal.SIGKILL


def test_small_trainings_run_beside_one_another_unless_an_engine_is_named(make, store, monkeypatch):
    monkeypatch.setattr("repro.running.engines.cores", lambda: 2)
    monkeypatch.setattr(local, "gpu", lambda: None)
    assert fitting(make(("bm25",)), store) == "inline"
    assert fitting(make(("bert", "ict")), store) == "local"
    monkeypatch.setattr("repro.running.engines.cores", lambda: 1)
    assert fitting(make(("bert", "ict")), store) == "inline"
    monkeypatch.setattr("repro.running.engines.cores", lambda: 2)
    monkeypatch.setattr(local, "gpu", lambda: [("a GPU", 1)])
    assert fitting(make(("bert", "ict")), store) == "inline"


def test_an_engine_with_workers_has_the_outcome_of_one_stage_after_another(make, store):
    plan = make(("bm25",))
    light = [node for node in plan.nodes if node.stage in LIGHT]
    plan = SimpleNamespace(
        nodes=light, ends=light, machine=plan.machine, scale=plan.scale, measurements=[], exhibits={}
    )
    outcome = local.execute(plan, store, Progress(), Options(jobs=2))
    assert {n.fingerprint for n in outcome.run} == {n.fingerprint for n in light}
    assert all(store.state(node) == "stored" for node in light)
