"""How long nodes take is told from nodes like them."""

import pytest

from repro.graph import Node
from repro.running.cost.work import work
from repro.running.run_progress import Pace
from repro.store import Store

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


def test_the_nearest_in_operations_tells_of_a_stage():
    pace, steps = Pace(), {100: 20, 2000: 50}
    for number, seconds in steps.items():
        pace.learn(_pretrain("mlm", number), seconds)
    assert pace.expected(_pretrain("mlm", 200)) == pytest.approx(40)
    assert pace.expected(_pretrain("mlm", 1000)) == pytest.approx(25)


def test_other_stages_tell_nothing_and_what_is_known_is_the_least_that_is_left():
    pace, known = Pace(), [LIGHT, _encode("beir/scifact")]
    pace.learn(LIGHT, 1)
    pace.learn(known[1], 10)
    assert pace.expected(_pretrain("mlm")) is None
    assert pace.left([*known, _pretrain("mlm")]) == (11, False)
    assert pace.left(known) == (11, True)
    assert pace.left([*known, LIGHT], beside=2) == (10, True)  # one stage is not divided
    assert pace.left([]) == (0, True)


def test_the_first_of_a_kind_which_loads_libraries_is_soon_outvoted():
    pace = Pace()
    pace.learn(_pretrain("mlm"), 30)
    assert pace.expected(_pretrain("mlm")) == pytest.approx(30)
    pace.learn(_pretrain("mlm"), 2)
    assert pace.expected(_pretrain("mlm", 200)) == pytest.approx(4)


def test_what_stored_artefacts_say_of_their_seconds_is_known_from_the_start(tmp_path):
    store, pace = Store(tmp_path), Pace()
    store.build(LIGHT, lambda directory: {"seconds": 3.5}, waiting=lambda: None)
    absent = Node("queries", {"dataset": "msmarco-passage/dev/small"})
    pace.learn_stored([LIGHT, absent], store)
    assert pace.expected(LIGHT) == 3.5
