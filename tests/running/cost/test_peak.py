"""The disk that a plan is said to take, against a run that takes it."""

from dataclasses import replace

import pytest

from repro.graph import Node, walk
from repro.manifest.cells import select
from repro.progress import Progress
from repro.running.cost.estimate import estimate
from repro.running.cost.work import work
from repro.running.discarding import Consumers, discarded_stages, fullest_level, levels
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.runner import Options
from repro.running.scale import scale
from repro.store import Store

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
