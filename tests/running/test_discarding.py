"""What a run lets go of, and in which order."""

import os
import signal
import subprocess
import sys
import time

import pytest

from repro.errors import UsageError
from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.discarding import discarded_stages, finished_vectors, readers_first
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import Store, underway

VECTORS = discarded_stages(["vectors"])
MODEL, QRELS = Node("backbone", {"name": "m", "revision": "main"}), Node("qrels", {"dataset": "a"})


def _encoded(name: str, kind: str = "passages") -> Node:
    params = {"kind": kind, "length": 8, "precision": "fp32"}
    return Node("encode", params, {"model": MODEL, "texts": Node("corpus", {"dataset": name})})


def _searched(passages: Node, topics: str) -> Node:
    return Node("search", {"depth": 5}, {"passages": passages, "queries": _encoded(topics, "queries")})


def _scored(run: Node) -> Node:
    params = {"measures": ["RR@10"], "judgements": "qrels", "ignore_identical_ids": False}
    return Node("evaluate", params, {"run": run, "qrels": QRELS})


@pytest.fixture
def world(tmp_path):
    """Two collections, of which one is ranked for two sets of queries, and a store."""
    first, second = _encoded("a"), _encoded("b")
    ends = [_scored(_searched(*pair)) for pair in ((first, "q1"), (second, "q1"), (first, "q2"))]
    return ends, first, second, Store(tmp_path / "store")


def _engine(store: Store, seen: list, *, fail=()):
    def run(node, store, progress):
        for parent in node.parents():
            assert store.state(parent) == "stored", f"{node} lacks {parent}"
        if node in fail:
            raise UsageError("no")
        seen.append((node, {p.parent.name + "/" + p.name for p in store.root.glob("encode/*")}))
        return store.build(node, lambda out: (out / "x").write_bytes(b"0" * 10) and None)

    return run


def _run(ends, store, *, progress=None, fail=(), **options):
    seen = []
    how = {"machine": Machine(), "options": Options(**options), "run": _engine(store, seen, fail=fail)}
    return ensure(ends, store, progress or Progress(), **how), [node for node, _ in seen]


def test_vectors_go_when_their_last_reader_is_stored_and_not_before(world):
    ends, _, _, store = world
    outcome, ran = _run(ends, store, discard=("vectors",))
    assert not outcome.failed and len(ran) == len(walk(ends))
    assert not list(store.root.glob("encode/*")) and len(list(store.root.glob("search/*"))) == 3
    assert _run(ends, store, discard=("vectors",))[1] == []
    assert len(list(store.root.glob("backbone/*.gone"))) == 0 and store.state(MODEL) == "stored"


def test_all_that_reads_a_collections_vectors_comes_before_the_next_collection(world):
    ends, first, second, _ = world
    order = readers_first(walk(ends), VECTORS)
    assert sorted(order, key=id) == sorted(walk(ends), key=id)
    places = {node.fingerprint: place for place, node in enumerate(order)}
    assert all(places[p.fingerprint] < places[n.fingerprint] for n in order for p in n.parents())
    both = [places[n.fingerprint] for n in order if n.stage == "search" and n.inputs["passages"] is first]
    assert len(both) == 2 and max(both) < places[second.fingerprint]


def test_vectors_that_are_asked_for_later_are_made_again(world):
    ends, first, _, store = world
    _run(ends, store, discard=("vectors",))
    _, ran = _run([*ends, _scored(_searched(first, "q3"))], store, discard=("vectors",))
    assert [n.stage for n in ran].count("encode") == 2 and first.fingerprint in {n.fingerprint for n in ran}
    assert not list(store.root.glob("encode/*"))


def test_what_a_failed_reader_would_read_stays(world):
    ends, first, second, store = world
    last = ends[2].inputs["run"]
    outcome, _ = _run(ends, store, discard=("vectors",), fail=(last,))
    assert last.fingerprint in outcome.failed
    assert store.state(first) == "stored" and store.state(second) == "missing"


def test_rankings_that_are_scored_stay_and_those_that_are_mined_go(world):
    ends, first, _, store = world
    training = _searched(first, "train")
    mined = Node("mine", {"per_query": 1}, {"run": training, "qrels": QRELS})
    _run([*ends, mined], store, discard=("vectors", "runs"))
    assert store.state(training) == "missing" and store.state(mined) == "stored"
    assert all(store.state(end.inputs["run"]) == "stored" for end in ends)


def test_everything_stays_without_the_option_and_goes_with_the_next_run_that_has_it(world):
    ends, first, second, store = world
    _run(ends, store)
    assert store.state(first) == store.state(second) == "stored"
    assert _run(ends, store, discard=("vectors",))[1] == []
    assert not list(store.root.glob("encode/*"))


WAITS = """
import sys
from pathlib import Path
from repro.graph import Node
from repro.store import underway
from repro.store.notes import noted_node
root = Path(sys.argv[1])
with underway.announce(root, [noted_node(root, sys.argv[2])]):
    print("announced", flush=True)
    sys.stdin.read()
"""


def test_what_another_process_is_to_read_stays_until_that_is_stored_or_the_process_gone(world):
    ends, first, second, store = world
    _run(ends, store)
    other = _searched(first, "q3")
    store.remember(walk([other]))
    command = [sys.executable, "-c", WAITS, str(store.root), other.fingerprint]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "announced\n"
        assert underway.awaited_inputs(store.root) == {p.fingerprint for p in other.parents()}
        _run(ends, store, discard=("vectors",))
        assert store.state(first) == "stored" and store.state(second) == "missing"
        os.kill(process.pid, signal.SIGKILL)
    assert underway.awaited_inputs(store.root) == set() and not list(store.root.glob("plans/*.json"))
    _run(ends, store, discard=("vectors",))
    assert store.state(first) == "missing"


def test_what_is_being_read_by_a_stage_alone_stays(world):
    ends, first, second, store = world
    _run(ends, store)
    other = _searched(first, "q3")
    store.remember(walk([other]))

    def meanwhile(out):
        assert [underway.remove_unless_needed(store, n) for n in (second, first)] == [True, False]

    store.build(other, meanwhile)
    assert underway.remove_unless_needed(store, first)


def test_what_is_noted_while_a_run_goes_on_stays(world):
    ends, first, second, store = world
    other = _searched(first, "q3")
    store.remember(walk([other]))
    seen, build = [], _engine(store, [])

    def run(node, store, progress):
        if not seen:
            time.sleep(0.02)  # a file's time is no finer than the kernel's tick
            store.remember(walk([other]))
        seen.append(node)
        return build(node, store, progress)

    ensure(ends, store, Progress(), machine=Machine(), options=Options(discard=("vectors",)), run=run)
    assert store.state(first) == "stored" and store.state(second) == "missing"
    _run(ends, store, discard=("vectors",))
    assert store.state(first) == "missing"


def test_vectors_of_finished_rows_are_found_in_a_store(tmp_path):
    store, cells = Store(tmp_path), select(("costa",), tables=("1",), rows=("hardneg.bert",), cells=())
    made = plan(cells, scale=scale("tiny"), machine=Machine())
    _run(made.ends, store)
    vectors = {n.fingerprint for n in made.nodes if n.stage == "encode"}

    def finished():
        return {n.fingerprint for n in finished_vectors([made], store, keep_days=14)}

    assert finished() == vectors != set()
    end = made.ends[0]
    store.discard(end)
    assert finished() == vectors
    store.discard(end.inputs["run"])
    read = {p.fingerprint for p in end.inputs["run"].parents()}
    assert finished() == vectors - read
    other = _searched(next(n for n in made.nodes if n.fingerprint in vectors - read), "q3")
    store.remember(walk([other]))
    assert finished() == vectors - read - {p.fingerprint for p in other.parents()}
