import re

import pytest

from repro.errors import StageError
from repro.graph import Node
from repro.manifest.cells import select
from repro.progress import TerminalProgress
from repro.running.cost.work import work
from repro.running.engines.inline import ensure
from repro.running.plan import plan
from repro.running.requirements import Machine, Obstacle
from repro.running.run_progress import Pace, collections, describe, describe_rows, places
from repro.running.scale import scale
from repro.store import Store


def _planned(rows, columns=2):
    cells = select(("costa",), tables=("1",), rows=rows, cells=())
    return plan(cells[:columns], scale=scale("tiny"), machine=Machine())


def _lines(whole, tmp_path, capsys, fail=(), verbose=True):
    store = Store(tmp_path)

    def run(node, store, progress):
        if node.stage in fail:
            raise StageError(f"{node.stage} failed on purpose")
        return store.build(node, lambda directory: {"seconds": 30.0})

    shown = {"machine": whole.machine, "places": places(whole), "run": run}
    outcome = ensure(whole.ends, store, TerminalProgress(verbose=verbose), **shown)
    return capsys.readouterr().err.splitlines(), outcome


def test_a_line_tells_row_table_collection_seconds_what_is_done_and_the_rest(tmp_path, capsys):
    lines, _ = _lines(_planned(("bm25",)), tmp_path, capsys)
    assert lines.pop() == "costa/1 sparse.bm25: done (1 of 1)"
    assert len(lines) == 12
    assert re.fullmatch(r"costa/1 sparse\.bm25: corpus on tiny/passage \(\w{12}\)", lines[0])
    assert re.fullmatch(r"  0\.\d s, 1 of 6 done", lines[1])
    assert "bm25 on tiny/passage/dev, depth 100 (" in lines[6]
    assert re.fullmatch(r"  0\.\d s, 6 of 6 done", lines[-1])


def test_in_brief_a_row_has_one_line(tmp_path, capsys):
    lines, _ = _lines(_planned(("bm25", "bert"), columns=None), tmp_path, capsys, verbose=False)
    rows = ["sparse.bm25", "bm25neg.bert", "hardneg.bert"]
    assert [line.partition(" (")[0] for line in lines] == [f"costa/1 {row}: done" for row in rows]
    assert lines[-1].endswith("(3 of 3)")


def test_a_training_tells_its_steps_as_they_are_known(tmp_path):
    nodes = _planned(("hardneg.costa",), columns=1).nodes
    shown = [describe(n) for n in nodes if "max_steps" in n.params]
    assert any("pretrain neighbours on tiny/text, 150 steps (" in line for line in shown)
    assert any(
        re.search(r"finetune contrastive on tiny/passage/train, at most \d+ steps \(", t) for t in shown
    )
    embedded = {id for node in nodes for id in collections(node)}
    assert embedded and all(id.startswith("tiny/") for id in embedded)


def test_what_cannot_run_is_not_counted(tmp_path, capsys):
    whole = _planned(("bm25",))
    index = next(n for n in whole.nodes if n.stage == "lucene_index")
    whole.machine.obstacles[index.fingerprint] = Obstacle("no Java", "install it")
    lines, outcome = _lines(whole, tmp_path, capsys)
    assert [line.partition(", ")[2] for line in lines[1::2]] == ["1 of 3 done", "2 of 3 done", "3 of 3 done"]
    assert len(outcome.blocked) == 3


def test_a_failure_is_told_with_its_node(tmp_path, capsys):
    lines, _ = _lines(_planned(("bm25",)), tmp_path, capsys, fail=("lucene_index",))
    at = next(n for n, line in enumerate(lines) if "lucene_index on tiny/passage" in line)
    assert lines[at + 1] == "  failed, 2 of 4 done"
    assert lines[at + 2] == "  failed: lucene_index failed on purpose"


@pytest.mark.parametrize(
    ("rows", "stage", "words"),
    [
        (("bm25neg.costa",), "pretrain", "costa/1 bm25neg.costa"),
        (("costa",), "finetune", "costa/1 bm25neg.costa and 1 more"),
        (("costa", "bert"), "corpus", "costa/1 bm25neg.bert and 3 more"),
        (("costa", "bert", "ict"), "corpus", "costa/1 bm25neg.bert and 5 more"),
    ],
)
def test_rows_that_share_a_node_are_told_together(rows, stage, words):
    whole = _planned(rows, columns=None)
    of_stage = [describe_rows(places(whole)[n.fingerprint]) for n in whole.nodes if n.stage == stage]
    assert words in of_stage


MODEL = Node("backbone", {"name": "bert-base-uncased", "revision": "main"})
LIGHT = Node("qrels", {"dataset": "msmarco-passage/dev/small"})


def _encode(dataset, length=128):
    texts = Node("corpus", {"dataset": dataset})
    return Node("encode", {"kind": "passages", "length": length}, {"model": MODEL, "texts": texts})


def _pretrain(objective, steps=100):
    tokens = Node(
        "tokenize", {"policy": "chunk", "length": 64}, {"corpus": Node("corpus", {"dataset": "tiny/text"})}
    )
    params = {"objective": {"name": objective}, "texts_per_batch": 8, "length": 64}
    return Node(
        "pretrain", {**params, "max_steps": steps, "epochs": None}, {"model": MODEL, "tokens": tokens}
    )


def test_a_heavy_node_takes_in_proportion_to_its_operations():
    pace, small, large = Pace(), _encode("beir/scifact"), _encode("beir/fiqa")
    pace.learn(small, 10)
    assert pace.expected(large) == pytest.approx(10 * work(large).operations / work(small).operations)


def test_the_same_objective_tells_more_than_the_same_stage():
    pace = Pace()
    pace.learn(_pretrain("mlm"), 5)
    assert pace.expected(_pretrain("costa", 200)) == pytest.approx(10)
    pace.learn(_pretrain("costa"), 20)
    assert pace.expected(_pretrain("costa", 200)) == pytest.approx(40)
    assert pace.expected(_pretrain("mlm")) == pytest.approx(5)


def test_other_stages_tell_nothing_and_what_is_known_is_the_least_that_is_left():
    pace, known = Pace(), [LIGHT, _encode("beir/scifact")]
    pace.learn(LIGHT, 1)
    pace.learn(known[1], 10)
    assert pace.expected(_pretrain("mlm")) is None
    assert pace.left([*known, _pretrain("mlm")]) == (11, False)
    assert pace.left(known) == (11, True)
    assert pace.left([*known, LIGHT], beside=2) == (10, True)
    assert pace.left([]) == (0, True)


def test_what_stored_artefacts_say_of_their_seconds_is_known_from_the_start(tmp_path):
    store, pace = Store(tmp_path), Pace()
    store.build(LIGHT, lambda directory: {"seconds": 3.5})
    absent = Node("queries", {"dataset": "msmarco-passage/dev/small"})
    pace.learn_stored([LIGHT, absent], store)
    assert pace.expected(LIGHT) == 3.5
