"""The cost of the whole follows from a rehearsal (amounts, too)."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from repro.graph import Node, walk
from repro.machine import system
from repro.running.cost import rehearsals as kept
from repro.running.cost.amounts import StoredCounts, amount, stage_costs
from repro.running.cost.rehearsals import KIB, rehearsed_cost
from repro.running.scale import scale
from repro.stage_table import STAGES
from repro.store import Store

PASSAGES, QUERIES = 8_841_823, 6980
MODEL = Node("backbone", {"name": "bert-base-uncased", "revision": "main"})
CORPUS = Node("corpus", {"dataset": "msmarco-passage"})
TOPICS = Node("queries", {"dataset": "msmarco-passage/dev/small"})
TEXTS = {"length": 144, "precision": "fp32"}
ENCODED = [
    Node("encode", {**TEXTS, "kind": kind}, {"model": MODEL, "texts": texts})
    for kind, texts in (("passages", CORPUS), ("queries", TOPICS))
]
SEARCHED = Node("search", {"depth": 1000}, dict(zip(("passages", "queries"), ENCODED, strict=True)))
TOKENS = Node("tokenize", {"length": 144, "policy": "truncate"}, {"corpus": CORPUS, "model": MODEL})
TRAINED = Node(
    "pretrain",
    {
        "objective": {"name": "o", "version": 1, "path": "repro.retrieval.nn.objectives:MaskedLanguageModel"},
        "options": {},
        "texts_per_batch": 2048,
        "max_steps": 80000,
        "epochs": None,
        "learning_rate": 1e-4,
        "length": 144,
        "seed": 1,
    },
    {"model": MODEL, "tokens": TOKENS},
)
FACTS = {
    "corpus": {"documents": 20000},
    "queries": {"queries": 500},
    "encode": {"texts": 20000},
    "pretrain": {"steps": 10, "examples": 20000},
}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def done(store):
    """``done(node, **facts)``: the rehearsal of a node, stored with what below it with such facts."""

    def call(node, size=1000, **facts):
        small = scale("rehearsal").rewriter()(node)
        for each in walk([small]):
            told = {"seconds": 2.0, "peak_memory_kib": 1000, **FACTS.get(each.stage, {})}

            def work(folder, of=each, told=told):
                (folder / "data").write_bytes(b"x" * (size if of is small else 1))
                return told | (facts if of is small else {})

            store.build(each, work)
        return rehearsed_cost(node, small, store)

    return call


def test_every_rule_is_of_a_stage_and_every_heavy_stage_has_one():
    rules = stage_costs()
    assert rules.keys() - {"tokenize-spans"} <= STAGES.keys()
    for stage, spec in STAGES.items():
        assert not spec.heavy or rules[stage].time, f"a heavy stage without a rule: {stage}"


def test_what_a_stage_does_once_is_counted_once_and_its_pace_for_all_texts(done):
    told = done(ENCODED[0], seconds=30.0, tasks={"encoding": {"done": 20000, "seconds": 21, "pace": 0.001}})
    assert (told.share.of, told.share.done, told.share.whole) == ("texts", 20000, PASSAGES)
    assert told.whole_seconds == pytest.approx(10 + PASSAGES * 0.001) and not told.at_most
    assert told.rate == pytest.approx(1000)
    assert told.whole_disk_bytes == pytest.approx(1000 * PASSAGES / 20000)
    assert told.peak_bytes == told.whole_peak_bytes == 1000 * KIB


def test_a_training_goes_by_the_examples_of_its_steps_though_a_batch_may_be_smaller(done):
    told = done(TRAINED, seconds=25.0, tasks={"training": {"done": 10, "seconds": 20, "pace": 2.0}})
    assert told.share.done == 20000  # 9 batches of 2,048 and one of 1,568
    assert told.share.whole == 80000 * 2048
    assert told.whole_seconds == pytest.approx(25 + 20 * (80000 * 2048 / 20000 - 1))
    assert told.whole_disk_bytes == 1000


def test_memory_grows_by_the_bytes_that_the_rules_say(done):
    told = done(CORPUS, seconds=3.0, tasks={"reading": {"done": 20000, "seconds": 1, "pace": 1e-5}})
    each = stage_costs()["corpus"].memory["documents"]
    assert told.whole_peak_bytes == pytest.approx(1000 * KIB + each * (PASSAGES - 20000))


def test_nothing_follows_where_too_little_was_done(done):
    many = replace(TOPICS, params={"dataset": "msmarco-passage/train/judged"})
    asked = Node("encode", ENCODED[1].params, {"model": MODEL, "texts": many})
    whole = Node("search", SEARCHED.params, {"passages": ENCODED[0], "queries": asked})
    told = done(whole, seconds=0.5)
    assert told.share.times > 10_000 and told.whole_seconds is None


def test_a_collection_that_nobody_counted_goes_by_its_words(done):
    articles = Node("corpus", {"dataset": "wikipedia"})
    told = done(articles, size=600_000, seconds=2.0, tasks={"r": {"done": 20000, "seconds": 1, "pace": 5e-5}})
    assert (told.share.of, told.share.done) == ("words", 100_000)
    assert told.whole_disk_bytes == pytest.approx(600_000 * told.share.times)


def test_stored_and_planned_amounts_have_the_same_names_and_agree_on_the_whole(done, store):
    done(SEARCHED)
    small = scale("rehearsal").rewriter()(SEARCHED)
    assert amount("products", small) == amount("products", small, StoredCounts(store)) == 20000 * 500


def _hours(known, node):
    measured = known.get(kept.kind_of(node))
    return measured and measured.hours(node)


def test_measurements_are_kept_by_kind_and_machine_and_tell_the_hours_of_other_nodes(
    done, store, monkeypatch
):
    told = done(ENCODED[0], seconds=30.0, tasks={"encoding": {"done": 20000, "seconds": 21, "pace": 0.001}})
    kept.keep_times([told], store)
    known = kept.rehearsals(store)
    assert _hours(known, ENCODED[0]) == pytest.approx((10 + PASSAGES * 0.001) / 3600)
    again = replace(MODEL, params={**MODEL.params, "revision": "other"})
    assert _hours(known, _encoded(CORPUS, again)) == _hours(known, ENCODED[0])
    kept.keep_times([replace(told, time=None)], store)
    assert _hours(kept.rehearsals(store), ENCODED[0]) is None
    kept.keep_times([told], store)
    assert kept.rehearsals(store)
    longer = Node("encode", {**ENCODED[0].params, "length": 512}, ENCODED[0].inputs)
    assert _hours(known, longer) is None and _hours(known, TRAINED) is None
    monkeypatch.setattr(kept, "hardware", lambda: {**system.hardware(), "cores": 999})
    assert kept.rehearsals(store) == {}


def _encoded(texts, model=MODEL):
    return Node("encode", ENCODED[0].params, {"model": model, "texts": texts})


def test_the_pace_of_one_collection_is_not_that_of_another_nor_of_a_model_of_other_sizes(done, store):
    short = _encoded(Node("corpus", {"dataset": "beir/quora"}))
    quick = {"seconds": 30.0, "tasks": {"encoding": {"done": 20000, "seconds": 2, "pace": 1e-4}}}
    slow = {"seconds": 30.0, "tasks": {"encoding": {"done": 20000, "seconds": 21, "pace": 1e-3}}}
    kept.keep_times([done(ENCODED[0], **slow), done(short, **quick)], store)
    known = kept.rehearsals(store)
    assert _hours(known, ENCODED[0]) == pytest.approx((10 + PASSAGES * 1e-3) / 3600)
    assert _hours(known, short) == pytest.approx((28 + 522_931 * 1e-4) / 3600)
    sizes = {"layers": 2, "hidden_size": 64, "intermediate_size": 128}
    small, base = (
        Node(
            "pretrain",
            {},
            {"model": Node("initialise", about, {"tokenizer": Node("vocabulary", {"size": 9})})},
        )
        for about in (sizes, {"layers": 12, "hidden_size": 768, "intermediate_size": 3072})
    )
    assert kept.kind_of(_encoded(CORPUS, small)) != kept.kind_of(_encoded(CORPUS, base))


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_nodes_of_a_kind_the_slowest_is_kept_though_another_told_nothing(done, store, order):
    told = done(ENCODED[0], seconds=30.0, tasks={"encoding": {"done": 20000, "seconds": 21, "pace": 1e-3}})
    quicker = replace(told, time=replace(told.time, once=1.0, each=told.time.each / 5))
    alike = [told, quicker, replace(told, time=None)]
    kept.keep_times(alike[::order], store)
    assert _hours(kept.rehearsals(store), ENCODED[0]) == pytest.approx(told.whole_seconds / 3600)


@pytest.mark.parametrize(
    ("steps", "trained"),
    [(1, 32), (3, 96), (4, 100), (5, 132), (8, 200), (11, 296)],  # 100 examples are 32 + 32 + 32 + 4
)
def test_a_training_goes_through_whole_batches_but_for_the_last_of_every_epoch(steps, trained):
    facts = {"steps": steps, "examples": 100}
    store = SimpleNamespace(record=lambda node: {"facts": facts})
    node = Node("pretrain", {"texts_per_batch": 32})
    assert StoredCounts(store).trained(node) == trained
