"""What a run lets go of, and in which order; the disk foretold, and a disk without room."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.errors import UsageError
from repro.graph import Node, walk
from repro.machine.system import bytes_of, size_in_words
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running import discarding
from repro.running.cost.estimate import estimate
from repro.running.cost.work import Work, work
from repro.running.discarding import (
    DISCARDABLE,
    Consumers,
    discarded_stages,
    fullest_level,
    levels,
    readers_first,
)
from repro.running.engines import local, slurm
from repro.running.engines.inline import ensure
from repro.running.kept_artefacts import finished_vectors
from repro.running.plan import plan
from repro.running.requirements import Machine, Obstacle
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
        return store.build(node, lambda out: (out / "x").write_bytes(b"0" * 10), waiting=lambda: None)

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


def test_without_the_option_everything_stays(world):
    ends, first, second, store = world
    _run(ends, store)
    assert store.state(first) == store.state(second) == "stored"


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


def test_what_was_left_by_a_run_that_was_killed_goes_with_the_next(world):
    ends, _, _, store = world
    _run(ends, store)
    assert _run(ends, store, discard=("vectors",))[1] == []
    assert not list(store.root.glob("encode/*"))


def test_an_end_stays_whatever_its_stage(world):
    _, first, _, store = world
    _run([first], store, discard=("vectors",))
    assert store.state(first) == "stored"


def test_a_kind_that_there_is_not_is_refused():
    with pytest.raises(UsageError, match="there is no kind of artefact to discard 'vector'"):
        Options(discard=("vector",))


def test_slurm_does_not_offer_it(world, tmp_path):
    made = plan([], scale=scale("tiny"), machine=Machine())
    for options in (Options(discard=("vectors",)), Options(max_disk=10)):
        with pytest.raises(UsageError, match="inline and local; on Slurm, `repro store gc --finished`"):
            slurm.execute(made, world[3], Progress(), options)


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
        assert underway.let_go(store, second) and not underway.let_go(store, first)

    store.build(other, meanwhile, waiting=lambda: None)
    assert underway.let_go(store, first)


@pytest.mark.parametrize("way", ["queued", "noted"])
def test_what_is_asked_for_while_a_run_goes_on_stays_until_it_is_stored(world, monkeypatch, way):
    ends, first, second, store = world
    other, queue = _searched(first, "q3"), set()
    monkeypatch.setattr("repro.running.engines.cluster.waiting_fingerprints", lambda store: set(queue))
    store.remember(walk([other]))
    seen, build = [], _engine(store, [])

    def run(node, store, progress):
        if not seen:
            time.sleep(0.02)  # a file's time is no finer than the kernel's tick
            queue.update({other.fingerprint} if way == "queued" else ())
            store.remember(walk([other]) if way == "noted" else ())
        seen.append(node)
        return build(node, store, progress)

    ensure(ends, store, Progress(), machine=Machine(), options=Options(discard=("vectors",)), run=run)
    assert store.state(first) == "stored" and store.state(second) == "missing"
    queue.clear()
    _run(ends, store, discard=("vectors",))
    assert store.state(first) == "missing"


def test_vectors_of_finished_rows_are_found_in_a_store(tmp_path):
    store, cells = Store(tmp_path), select(("costa",), tables=("1",), rows=("hardneg.bert",), cells=())
    made = plan(cells, scale=scale("tiny"), machine=Machine())
    _run(made.ends, store)
    vectors = {n.fingerprint for n in made.nodes if n.stage == "encode"}
    assert {n.fingerprint for n in finished_vectors([made], store, keep_days=14)} == vectors != set()
    end = made.ends[0]
    store.discard(end)
    assert {
        n.fingerprint for n in finished_vectors([made], store, keep_days=14)
    } == vectors  # its run is there
    store.discard(end.inputs["run"])
    read = {p.fingerprint for p in end.inputs["run"].parents()}
    assert {n.fingerprint for n in finished_vectors([made], store, keep_days=14)} == vectors - read
    other = _searched(next(n for n in made.nodes if n.fingerprint in vectors - read), "q3")
    store.remember(walk([other]))
    asked = {p.fingerprint for p in other.parents()}
    assert {n.fingerprint for n in finished_vectors([made], store, keep_days=14)} == vectors - read - asked


def test_the_consumers_of_what_is_needed_alone_count(world):
    ends, first, second, _ = world
    nodes = walk(ends)
    left = Consumers(ends, nodes, [ends[0]], {first.fingerprint, second.fingerprint}, VECTORS)
    assert {n.fingerprint for n in left.free()} == {first.fingerprint, second.fingerprint}


def test_what_may_go_is_known_without_looking_at_every_node(world, monkeypatch):
    class Unlisted(dict):
        def items(self):
            raise AssertionError("all nodes were looked at")

    ends, first, second, _ = world
    nodes = walk(ends)
    consumers = Consumers(ends, nodes, nodes, (), VECTORS)
    monkeypatch.setattr(consumers, "_nodes", Unlisted(consumers._nodes))
    freed = []
    for node in nodes:
        consumers.stored(node)
        for free in consumers.free():
            consumers.gone(free)
            freed.append(free.fingerprint)
    assert {first.fingerprint, second.fingerprint} < set(freed) and len(freed) == len(set(freed))


MB = 10**6


def _chain(names: str) -> list[Node]:
    """For each name vectors and a ranking by them; both are a megabyte here."""
    model, qrels = Node("backbone", {"name": "m", "revision": "main"}), Node("qrels", {"dataset": "a"})
    ends = []
    for name in names:
        texts = Node("corpus", {"dataset": name})
        passages = Node("encode", {"kind": "passages", "length": 8}, {"model": model, "texts": texts})
        run = Node("search", {"depth": 5}, {"passages": passages, "queries": passages})
        ends.append(Node("mine", {"per_query": 1}, {"run": run, "qrels": qrels}))
    return ends


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    def sizes(node):
        return Work(stored=MB, beside=MB / 2) if node.stage == "encode" else Work()

    monkeypatch.setattr(discarding, "work", sizes)
    return Store(tmp_path / "store")


def _built(node, store, progress):
    size = MB if node.stage == "encode" else 0
    return store.build(node, lambda out: (out / "x").write_bytes(b"0" * size), waiting=lambda: None)


def _run_within(ends, store, **options):
    return ensure(ends, store, Progress(), machine=Machine(), options=Options(**options), run=_built)


def test_what_does_not_fit_is_held_back_with_all_below_it_and_the_rest_is_run(store):
    ends = _chain("ab")
    outcome = _run_within(ends, store, max_disk=2 * MB)  # 1 and a half at a time
    assert store.state(ends[0]) == "stored" and store.state(ends[1]) == "missing"
    [obstacle] = outcome.blocked[ends[1].fingerprint]
    assert "takes about 1.5 MB while it is made, and --max-disk 2.0 MB leaves " in obstacle.cause
    assert (
        "more are needed: run with --discard vectors, free some (`repro store gc --finished`"
        in obstacle.remedy
    )


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"discard": ("runs",)}, "needed: run with --discard runs,vectors, free some ("),
        ({"discard": ("vectors",)}, "needed: run with --discard vectors,runs, free some ("),
        ({"discard": tuple(DISCARDABLE)}, "needed: free some ("),
        ({"may_discard": False}, "needed: free some ("),
    ],
)
def test_nothing_is_advised_that_is_done_already_or_cannot_be_asked_for(store, options, advice):
    outcome = _run_within(_chain("a"), store, max_disk=MB, **options)
    [remedy] = {o.remedy for obstacles in outcome.blocked.values() for o in obstacles}
    assert advice in remedy


def test_what_waits_for_something_else_is_not_said_to_lack_room(store):
    [end] = _chain("a")
    nodes = {node.stage: node for node in walk([end])}
    machine = Machine()
    machine.obstacles[nodes["corpus"].fingerprint] = Obstacle("no such data", "fetch it", lacks="data")
    ensure([end], store, Progress(), machine=machine, options=Options(max_disk=1), run=_built)
    assert nodes["encode"].fingerprint not in machine.obstacles


def test_with_what_may_go_gone_it_fits(store):
    ends = _chain("abcd")
    outcome = _run_within(ends, store, max_disk=2 * MB, discard=("vectors",))
    assert not outcome.blocked and all(store.state(end) == "stored" for end in ends)


def test_the_file_system_is_a_limit_too(store, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=MB))
    outcome = _run_within(_chain("a"), store, max_disk=10**12)
    causes = {o.cause for obstacles in outcome.blocked.values() for o in obstacles}
    assert len(causes) == 1 and f"the file system of {store.root} has 1.0 MB" in causes.pop()


def test_what_an_interrupted_attempt_has_written_is_not_asked_for_again(store):
    [end] = _chain("a")
    partial = store.partial(next(n for n in walk([end]) if n.stage == "encode"))
    partial.mkdir(parents=True)
    (partial / "y").write_bytes(b"0" * MB)
    assert not _run_within([end], store, max_disk=int(1.6 * MB)).blocked


def test_the_engine_local_waits_for_what_runs_before_it_gives_up(store, monkeypatch):
    monkeypatch.setattr(local, "LOOK", 0)
    begun = []

    class Child:
        gpus, log = None, Path("/dev/null")

        def __init__(self, node):
            self.node, self.looks = node, 2
            begun.append((node, sum(child.looks > 0 for _, child in begun)))
            begun[-1] = node, self

        def ended(self):
            self.looks -= 1
            return self.looks <= 0

        def result(self):
            size = MB if self.node.stage == "encode" else 0
            store.build(self.node, lambda out: (out / "x").write_bytes(b"0" * size), waiting=lambda: None)

    monkeypatch.setattr(local._Run, "_child", lambda self, node: Child(node))
    monkeypatch.setattr(local, "stop", lambda children: None)
    ends = _chain("abc")
    plan = SimpleNamespace(
        ends=ends,
        nodes=walk(ends),
        machine=Machine(),
        measurements=[],
        exhibits={},
        scale=SimpleNamespace(facts=SimpleNamespace(backbone=True)),
    )
    options = Options(jobs=3, max_disk=2 * MB, discard=("vectors",))
    outcome = local.execute(plan, store, Progress(), options)
    assert not outcome.blocked and all(store.state(end) == "stored" for end in ends)


@pytest.mark.parametrize(
    ("text", "size"), [("1TB", 10**12), ("1.5 GiB", 3 << 29), ("7", 7), (" 2mb ", 2 * MB)]
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "0", "-1GB", "1 parsec", "1e9"])
def test_what_is_no_size_is_none(text):
    assert bytes_of(text) is None
    assert size_in_words(27.2e9) == "27.2 GB" and size_in_words(1.5e6) == "1.5 MB"


def test_a_size_that_is_none_is_refused_on_the_command_line(repro=None):
    from repro.cli.options import _size

    with pytest.raises(UsageError, match=r"--max-disk is '1 parsec', which is no size; write it like 900GB"):
        _size(None, None, "1 parsec")


ROWS = ("hardneg.bert", "hardneg.costa", "bm25")


def _planned(store, name="tiny", rows=ROWS):
    cells = select(("costa",), tables=("1",), rows=rows, cells=())
    made = plan(cells, scale=scale(name), machine=Machine())
    made.look(store)
    return made


def _bytes(store) -> int:
    files = (p for p in store.root.glob("*/*/content") if len(p.parent.name) == 64)
    return sum(p.stat().st_size for p in files)


@pytest.mark.parametrize("kinds", [(), ("vectors",), ("vectors", "runs", "tokens", "indexes")])
def test_a_run_takes_the_disk_that_was_foretold_node_by_node(tmp_path, kinds):
    """Every stage writes as many bytes as its artefact is estimated to have."""
    store = Store(tmp_path / "store")
    made = _planned(store)
    taken = []

    def run(node, store, progress):
        taken.append((node.fingerprint, _bytes(store)))
        size = int(work(node).stored or 0)
        return store.build(node, lambda out: (out / "content").write_bytes(b"0" * size), waiting=lambda: None)

    course = estimate(made, None).disk(discarded_stages(kinds))
    ensure(made.ends, store, Progress(), machine=made.machine, options=Options(discard=kinds), run=run)
    assert [level.node.fingerprint for level in course] == [name for name, _ in taken]
    before = [0.0, *(level.after for level in course[:-1])]
    assert [size for _, size in taken] == pytest.approx(before, abs=len(taken))  # whole bytes are written
    assert _bytes(store) == pytest.approx(course[-1].after, abs=len(taken))
    gone = {node.stage for level in course for node in level.gone}
    assert gone == {"vectors": {"encode"}, "": set()}.get(",".join(kinds), gone)
    if len(kinds) > 1:
        assert {"encode", "tokenize", "lucene_index"} <= gone


def test_a_second_run_frees_what_the_first_left(tmp_path):
    store = Store(tmp_path / "store")

    def run(node, store, progress):
        return store.build(node, lambda out: None, waiting=lambda: None)

    made = _planned(store)
    ensure(made.ends, store, Progress(), machine=made.machine, run=run)
    made = _planned(store)
    assert estimate(made, None).fullest(discarded_stages(["vectors"])) is None
    store.discard(made.ends[0])
    made = _planned(store)
    [level] = estimate(made, None).disk(discarded_stages(["vectors"]), before=10**9)
    vectors = sum(work(n).stored for n in made.nodes if n.stage == "encode")
    assert level.during == pytest.approx(10**9 - vectors + (work(level.node).stored or 0))


def test_levels_by_hand():
    big = [Node("encode", {"kind": "passages", "n": n}) for n in range(3)]
    small = [Node("search", {"depth": 1}, {"passages": node, "queries": node}) for node in big]
    order = [big[0], big[1], small[0], big[2], small[1], small[2]]

    def sizes(node):
        return (10.0, 5.0) if node.stage == "encode" else (1.0, 0.0)

    consumers = Consumers(small, walk(small), order, (), discarded_stages(["vectors"]))
    course = list(levels(order, consumers, sizes, before=2.0))
    assert [level.during for level in course] == [17, 27, 23, 28, 24, 15]
    assert [level.after for level in course] == [12, 22, 13, 23, 14, 5]
    assert fullest_level(course) is course[3] and fullest_level([]) is None


def test_everything_fits_on_a_terabyte(everything_at_full, tmp_path):
    made = replace(everything_at_full)
    made.look(Store(tmp_path))
    cost = estimate(made, None)
    assert cost.stored > 5e12
    assert cost.fullest().during >= cost.stored
    assert cost.fullest(discarded_stages(["vectors"])).during < 1e12
