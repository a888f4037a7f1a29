"""The disk that a plan takes, foretold and as it is, and a disk without room (of `discarding`)."""

import shutil
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
)
from repro.running.engines import local
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.requirements import Machine, Obstacle
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import Store

MB = 10**6


def _chain(names: str) -> list[Node]:
    """For each name vectors and a ranking by them; both are a megabyte here."""
    ends, model = [], Node("backbone", {"name": "m", "revision": "main"})
    for name in names:
        texts = Node("corpus", {"dataset": name})
        passages = Node("encode", {"kind": "passages", "length": 8}, {"model": model, "texts": texts})
        run = Node("search", {"depth": 5}, {"passages": passages, "queries": passages})
        ends.append(Node("mine", {"per_query": 1}, {"run": run, "qrels": Node("qrels", {"dataset": "a"})}))
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


def _run(ends, store, **options):
    return ensure(ends, store, Progress(), machine=Machine(), options=Options(**options), run=_built)


def test_what_does_not_fit_is_held_back_with_all_below_it_and_the_rest_is_run(store):
    ends = _chain("ab")
    outcome = _run(ends, store, max_disk=2 * MB)  # 1 and a half at a time
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
    outcome = _run(_chain("a"), store, max_disk=MB, **options)
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
    outcome = _run(ends, store, max_disk=2 * MB, discard=("vectors",))
    assert not outcome.blocked and all(store.state(end) == "stored" for end in ends)


def test_the_file_system_is_a_limit_too(store, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=MB))
    outcome = _run(_chain("a"), store, max_disk=10**12)
    causes = {o.cause for obstacles in outcome.blocked.values() for o in obstacles}
    assert len(causes) == 1 and f"the file system of {store.root} has 1.0 MB" in causes.pop()


def test_what_an_interrupted_attempt_has_written_is_not_asked_for_again(store):
    [end] = _chain("a")
    partial = store.partial(next(n for n in walk([end]) if n.stage == "encode"))
    partial.mkdir(parents=True)
    (partial / "y").write_bytes(b"0" * MB)
    assert not _run([end], store, max_disk=int(1.6 * MB)).blocked


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


def test_everything_fits_on_eleven_hundred_gigabytes(everything_at_full, tmp_path):
    made = replace(everything_at_full)
    made.look(Store(tmp_path))
    cost = estimate(made, None)
    assert cost.stored > 5e12
    assert cost.fullest().during >= cost.stored
    assert cost.fullest(discarded_stages(["vectors"])).during < 1.1e12
