from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

from repro.errors import StageError, UsageError
from repro.graph import Node
from repro.machine.shard import Shard
from repro.manifest.cells import select
from repro.progress import Progress
from repro.retrieval.nn import cross_encoder
from repro.retrieval.stages import encode, encode_views, mine
from repro.retrieval.stages.vectors import exact_search
from repro.retrieval.training.process_group import everybody_waits, rank
from repro.running.engines import inline, shared_work
from repro.running.engines.inline import run_node
from repro.running.engines.shared_work import build
from repro.running.plan import plan
from repro.running.provenance import differences, made_by
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import RECORD, Store
from repro.store.leftovers import leftovers
from tests.tiny_models import save_tiny_model, tiny_text

SHARED = Node("pretrain", {"objective": {"name": "none", "version": 1, "path": "none:None"}})
LONE = Node("corpus", {"dataset": "x"})


def built(folder: Path) -> None:
    store, paths = Store(folder / "store"), []

    def work(directory: Path) -> dict:
        (directory / f"by {rank()}").write_text("here")
        everybody_waits()  # as a training does: neither may be without the other
        return {"rank": rank()}

    def alone(directory: Path) -> dict:
        (directory / f"by {rank()}").write_text("here")
        return {"rank": rank()}

    def never(directory: Path) -> dict:
        raise AssertionError("it is stored")

    for node, way in ((SHARED, work), (LONE, alone), (SHARED, never)):
        paths.append(str(build(node, store, way)))
        paths.append(store.state(node))
    (folder / f"paths {rank()}").write_text(json.dumps(paths))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, in_two_processes):
    made = tmp_path_factory.mktemp("together")
    in_two_processes(built, made)
    return made


def test_both_processes_work_in_one_directory_and_the_first_seals_it(folder):
    store = Store(folder / "store")
    assert store.record(SHARED)["facts"] == {"rank": 0}
    assert set(store.record(SHARED)["files"]) == {"by 0", "by 1"}
    assert store.state(SHARED) == "stored" and not store.partial(SHARED).exists()


def test_of_a_stage_that_is_not_shared_the_first_process_does_all(folder):
    assert set(Store(folder / "store").record(LONE)["files"]) == {"by 0"}


def test_every_process_gets_the_path_once_the_artefact_is_stored(folder):
    told = [json.loads((folder / f"paths {process}").read_text()) for process in (0, 1)]
    store = Store(folder / "store")
    expected = [word for node in (SHARED, LONE, SHARED) for word in (str(store.path(node)), "stored")]
    assert told == [expected, expected]


def test_one_process_builds_as_the_store_does(tmp_path):
    store = Store(tmp_path)
    path = build(LONE, store, lambda directory: {"rank": rank()})
    assert path == store.path(LONE) and store.record(LONE)["facts"] == {"rank": 0}


MODEL, CORPUS = Node("initialise", {"seed": 1}), Node("corpus", {"dataset": "x"})
TEXTS = {"kind": "passages", "length": 32, "separator": "[SEP]", "precision": "fp32", "normalize": False}
ENCODE = Node("encode", TEXTS | {"pooling": "cls"}, {"model": MODEL, "texts": CORPUS})
SPARSE = {"views": ["sparse"], "positions": "all", "head": "splade", "top_k": None}
VIEWS = Node("encode_views", TEXTS | SPARSE, {"model": MODEL, "texts": CORPUS})
STAGES = {"encode": encode, "encode_views": encode_views}


@pytest.fixture
def new(tmp_path, monkeypatch):
    """Stores with a model and 40 passages, which are five blocks."""
    for stage in STAGES.values():
        monkeypatch.setattr(stage, "BLOCK", 8)

    def make(name: str) -> Store:
        generator, store = np.random.default_rng(3), Store(tmp_path / name)
        names = [f"d{number}" for number in range(40)]
        texts = [tiny_text(generator, int(words)) for words in generator.integers(3, 40, 40)]
        rows = Dataset.from_dict({"id": names, "title": [""] * 40, "text": texts})
        store.build(MODEL, lambda folder: save_tiny_model(folder))
        store.build(CORPUS, lambda folder: rows.save_to_disk(str(folder / "arrow")))
        return store

    return make


def fill(store: Store, node: Node, *parts: str) -> list:
    return [run_node(node, store, Progress(), Shard.parse(part)) for part in parts]


def files(store: Store, node: Node) -> dict[str, bytes]:
    folder = store.path(node)
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != RECORD)
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("node", [ENCODE, VIEWS], ids=lambda node: node.stage)
def test_the_last_shard_to_end_makes_the_bytes_of_the_whole(new, node):
    whole, parted = new("whole"), new("parted")
    run_node(node, whole, Progress())
    assert fill(parted, node, "3/3", "1/3") == [None, None]
    assert parted.state(node) == "partial" and shared_work.finished_shards(parted, node, 3) == {1, 3}
    assert fill(parted, node, "2/3") == [parted.path(node)]
    assert files(parted, node) == files(whole, node)
    facts = parted.record(node)["facts"]
    assert [part["shard"] for part in facts["shards"]] == ["1/3", "2/3", "3/3"]
    assert {part["host"] for part in facts["shards"]} == {socket.gethostname()}
    assert all(part["finished"] for part in facts["shards"])
    assert facts["seconds"] >= sum(part["seconds"] for part in facts["shards"]) > 0
    assert "shards" not in whole.record(node)["facts"]
    assert fill(parted, node, "1/3") == [parted.path(node)]


STAGE = "repro.retrieval.stages.encode"


@pytest.mark.parametrize("other", ["1/3", "2/3", "3/3"])
def test_shards_of_other_code_are_told_of_the_whole(new, monkeypatch, other):
    store, older = new("store"), {STAGE: "0" * 8}
    for part in ("1/3", "2/3", "3/3"):
        with monkeypatch.context() as patch:
            if part == other:
                made = made_by(ENCODE)
                made |= {"modules": made["modules"] | older, "code": "0" * 64}
                patch.setattr(inline, "made_by", lambda node, made=made: made)
            fill(store, ENCODE, part)
    facts, here = store.record(ENCODE)["facts"], made_by(ENCODE)
    assert differences(facts) == [STAGE]
    both = facts["modules"].pop(STAGE).split(" and ")
    assert set(both) == {"0" * 8, here["modules"].pop(STAGE)} and len(both) == 2
    assert facts["modules"] == here["modules"] and facts["libraries"] == here["libraries"]


def encoded_blocks(monkeypatch, *, dies_after: int = 99) -> list[int]:
    seen, real = [], encode.save_block

    def counted(folder, first, rows):
        if len(seen) == dies_after:
            raise KeyboardInterrupt
        seen.append(first)
        real(folder, first, rows)

    monkeypatch.setattr(encode, "save_block", counted)
    return seen


def test_a_shard_that_was_killed_is_done_again_alone_and_keeps_its_blocks(new, monkeypatch):
    whole, parted = new("whole"), new("parted")
    run_node(ENCODE, whole, Progress())
    fill(parted, ENCODE, "2/2")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        encoded_blocks(patch, dies_after=2)
        fill(parted, ENCODE, "1/2")
    assert shared_work.finished_shards(parted, ENCODE, 2) == {2}
    seen = encoded_blocks(monkeypatch)
    assert fill(parted, ENCODE, "1/2") == [parted.path(ENCODE)]
    assert len(seen) == 1, "of its three blocks two were there"
    assert files(parted, ENCODE) == files(whole, ENCODE)


def test_a_block_that_changed_since_is_made_again_with_the_whole(new, monkeypatch):
    whole, parted = new("whole"), new("parted")
    run_node(ENCODE, whole, Progress())
    fill(parted, ENCODE, "1/2")
    block = parted.partial(ENCODE) / "blocks/16.npz"
    content = bytearray(block.read_bytes())
    content[len(content) // 2] ^= 1
    block.write_bytes(content)
    seen = encoded_blocks(monkeypatch)
    fill(parted, ENCODE, "2/2")
    assert len(seen) == 3, "the two of the second shard, and the damaged one"
    assert files(parted, ENCODE) == files(whole, ENCODE)


def test_what_a_run_without_shards_began_is_kept_by_them_and_the_other_way_round(new, monkeypatch):
    whole, parted = new("whole"), new("parted")
    run_node(ENCODE, whole, Progress())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        encoded_blocks(patch, dies_after=3)
        run_node(ENCODE, parted, Progress())
    with monkeypatch.context() as patch:
        seen = encoded_blocks(patch)
        fill(parted, ENCODE, "2/2")
        assert len(seen) == 1, "blocks 1 and 3, of which 1 was there"
    seen = encoded_blocks(monkeypatch)
    run_node(ENCODE, parted, Progress())
    assert len(seen) == 1, "block 4 is left"
    assert files(parted, ENCODE) == files(whole, ENCODE)


def test_shards_that_end_together_seal_the_artefact_once(new, monkeypatch):
    whole, parted = new("whole"), new("parted")
    run_node(ENCODE, whole, Progress())
    built, build, both = [], Store.build, threading.Barrier(2)

    def counted(store, node, work):
        return build(store, node, lambda folder: built.append(node) or work(folder))

    monkeypatch.setattr(Store, "build", counted)
    monkeypatch.setattr(
        shared_work.shard, "only_shard", lambda part: contextlib.nullcontext()
    )  # two threads are one process
    results: dict[int, object] = {}

    def end(number: int) -> None:
        part, opened = Shard(number, 2), Store(parted.root)
        folder = opened.partial(ENCODE)

        def work(directory):
            assert directory == folder

        both.wait()
        results[number] = shared_work.build_shard(ENCODE, opened, work, part)

    threads = [threading.Thread(target=end, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(built) == 1 and parted.path(ENCODE) in results.values()
    assert [part["shard"] for part in parted.record(ENCODE)["facts"]["shards"]] == ["1/2", "2/2"]


def test_the_whole_waits_for_a_shard_at_work_and_nothing_collects_what_it_writes(new):
    store, at_work, go_on, told = new("store"), threading.Event(), threading.Event(), []

    def slow(directory):
        at_work.set()
        assert go_on.wait(30)

    class Told(Progress):
        def note(self, message):
            told.append(message)
            go_on.set()

    shard = threading.Thread(target=store.work_beside, args=(ENCODE, slow))
    shard.start()
    assert at_work.wait(30)
    beside = []
    Store(store.root, Told()).work_beside(ENCODE, beside.append)
    assert beside == [store.partial(ENCODE)] and told == [], "another shard does not wait"
    assert [item.kind for item in leftovers(store, set(), keep_days=0) if item.stage == "encode"] == []

    Store(store.root, Told()).build(ENCODE, lambda folder: None)
    shard.join(30)
    assert told == [f"  {ENCODE}: another process is building it, waiting"]
    assert store.state(ENCODE) == "stored"


def test_a_stage_without_shards_and_a_stage_that_fails_are_told(new, monkeypatch):
    store = new("store")
    with pytest.raises(UsageError, match=r"^corpus/.*: stage corpus has no shards \(these have: encode, "):
        fill(store, Node("corpus", {"dataset": "y"}), "1/2")

    def fail(*arguments):
        raise RuntimeError("no luck")

    monkeypatch.setattr(encode, "save_block", fail)
    with pytest.raises(StageError, match="no luck"):
        fill(store, ENCODE, "1/2")
    assert shared_work.finished_shards(store, ENCODE, 2) == set()


def test_the_verb_fills_a_shard_and_says_whether_others_are_missing(new, monkeypatch, capsys):
    from repro.cli import main

    store = new("store")
    store.remember([MODEL, CORPUS, ENCODE])
    monkeypatch.setattr("repro.running.engines.child.end_with_parent", lambda: None)
    monkeypatch.setattr(signal, "signal", lambda *arguments: None)
    line = ["repro", "stage", ENCODE.fingerprint[:12], "--store", str(store.root)]
    for part, said in (
        ("1/2", f"shard 1/2 of {ENCODE} is done, other shards are not"),
        ("2/2", str(store.path(ENCODE))),
    ):
        monkeypatch.setattr(sys, "argv", [*line, "--shard", part])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code and capsys.readouterr().out == f"{said}\n"
    assert json.loads((store.path(ENCODE) / RECORD).read_text())["facts"]["texts"] == 40


def test_no_stage_has_more_shards_than_blocks():
    cells = select(("simlm",), tables=("2",), rows=("dense.simlm",), cells=())
    counts: dict[str, set[int]] = {}
    for node in plan(cells, scale=scale("full"), machine=Machine()).nodes:
        kind = f"{node.stage} {node.params['kind']}" if node.stage == "encode" else node.stage
        counts.setdefault(kind, set()).add(shared_work.count_of(node, 16))
    divided = {kind: max(numbers) for kind, numbers in counts.items() if max(numbers) > 1}
    assert divided == {
        "encode passages": 16,
        "encode queries": 16,
        "search": 16,
        "mine": 16,
        "score_pairs": 16,
    }
    assert 1 in counts["search"], "6,980 queries are one block"
    assert shared_work.count_of(ENCODE, 8) == 8, "nobody counted its texts"


def test_blocks_are_as_large_as_their_stages_say():
    stated = {"encode": encode.BLOCK, "encode_views": encode_views.BLOCK, "mine": mine.BLOCK // 43}
    stated |= dict.fromkeys(("search", "search_views"), exact_search.BLOCK)
    stated |= dict.fromkeys(("score_pairs", "rerank"), cross_encoder.BLOCK)
    assert stated == shared_work.DIVISIBLE
