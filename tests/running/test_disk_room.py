import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running import discarding
from repro.running.cost.estimate import estimate
from repro.running.cost.work import Work, work
from repro.running.discarding import Consumers, discarded_stages, fullest_level, levels
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.requirements import Machine
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
    size = MB if node.stage == "encode" else 1
    return store.build(node, lambda out: (out / "x").write_bytes(b"0" * size) and None)


def _run(ends, store, **options):
    return ensure(ends, store, Progress(), machine=Machine(), options=Options(**options), run=_built)


def test_what_does_not_fit_is_held_back_with_all_below_it_and_the_rest_is_run(store):
    ends = _chain("ab")
    outcome = _run(ends, store, max_disk=2 * MB)
    assert store.state(ends[0]) == "stored" and store.state(ends[1]) == "missing"
    [obstacle] = outcome.blocked[ends[1].fingerprint]
    assert "takes about 1.5 MB while it is made, and --max-disk 2.0 MB leaves " in obstacle.cause
    assert (
        "more are needed: run with --discard vectors, free some (`repro store gc --finished`"
        in obstacle.remedy
    )


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


ROWS = ("hardneg.bert", "hardneg.costa", "bm25")


def _planned(store, name="tiny", rows=ROWS):
    cells = select(("costa",), tables=("1",), rows=rows, cells=())
    made = plan(cells, scale=scale(name), machine=Machine())
    made.look(store)
    return made


def _fill(folder: Path, size: int) -> None:
    (folder / "content").write_bytes(b"0" * size)


def _bytes(store) -> int:
    files = (p for p in store.root.glob("*/*/content") if len(p.parent.name) == 64)
    return sum(p.stat().st_size for p in files)


@pytest.mark.parametrize("kinds", [(), ("vectors",), ("vectors", "runs", "tokens", "indexes")])
def test_a_run_takes_the_disk_that_was_foretold_node_by_node(tmp_path, kinds):
    store = Store(tmp_path / "store")
    made = _planned(store)
    taken = []

    def run(node, store, progress):
        taken.append((node.fingerprint, _bytes(store)))
        size = int(work(node).stored or 0)
        return store.build(node, lambda out: _fill(out, size))

    course = estimate(made, None).disk(discarded_stages(kinds))
    ensure(made.ends, store, Progress(), machine=made.machine, options=Options(discard=kinds), run=run)
    assert [level.node.fingerprint for level in course] == [name for name, _ in taken]
    before = [0.0, *(level.after for level in course[:-1])]
    assert [size for _, size in taken] == pytest.approx(before, abs=len(taken))
    assert _bytes(store) == pytest.approx(course[-1].after, abs=len(taken))
    gone = {node.stage for level in course for node in level.gone}
    assert gone == {"vectors": {"encode"}, "": set()}.get(",".join(kinds), gone)
    if len(kinds) > 1:
        assert {"encode", "tokenize", "lucene_index"} <= gone


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


def test_everything_fits_on_a_terabyte_without_vectors(everything_at_full, tmp_path):
    made = replace(everything_at_full)
    made.look(Store(tmp_path))
    cost = estimate(made, None)
    assert cost.stored > 5e12
    assert cost.fullest().during >= cost.stored
    assert cost.fullest(discarded_stages(["vectors", "runs"])).during < 0.7e12
    course = cost.disk(discarded_stages(["vectors"]))
    assert 0.8e12 < course[-1].after < max(level.during for level in course) < 1e12
