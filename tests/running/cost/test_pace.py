"""How long nodes take is told from nodes like them."""

import pytest

from repro.graph import Node
from repro.running.cost.pace import Pace
from repro.running.cost.work import work
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


def test_nobody_can_tell_of_a_training_before_something_heavy_is_done():
    pace = Pace()
    pace.learn(LIGHT, 1)
    assert pace.expected(_pretrain("mlm")) is None and pace.left([LIGHT, _pretrain("mlm")]) is None
    pace.learn(_encode("beir/scifact"), 10)
    assert pace.left([LIGHT, _pretrain("mlm")]) == 1 + pace.expected(_pretrain("mlm"))


def test_a_light_node_of_a_new_kind_takes_the_median_of_light_ones():
    pace = Pace()
    for seconds in (1, 2, 60):
        pace.learn(LIGHT, seconds)
    assert pace.expected(Node("queries", {"dataset": "msmarco-passage/dev/small"})) == 2


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
