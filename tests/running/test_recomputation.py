"""A sample of the store is computed again: what is stored is what its stages make of its inputs."""

import json
import shutil

import pytest

from repro.errors import BlockedError
from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.stages import evaluate
from repro.running import recomputation
from repro.running.recomputation import draw, recompute
from tests.vector_store import forge, vector_store


@pytest.fixture
def made(tmp_path):
    return vector_store(tmp_path / "store")


def _again(store, **options):
    sample = draw(store, **{"size": 9, "seed": 0} | options)
    return {one.stage: one for one in recompute(sample, store, Progress())}


def _files(store):
    return {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}


def test_what_the_stages_made_agrees_to_the_bit_and_nothing_is_written(made):
    store, _ = made
    before = _files(store)
    again = _again(store)
    assert {stage: one.agreement for stage, one in again.items()} == dict.fromkeys(
        ("search", "mine", "evaluate"), "bits"
    )
    assert _files(store) == before
    assert all(one.other_code == [] for one in again.values())


def test_a_score_that_was_changed_together_with_its_checksums_is_found(made):
    store, nodes = made
    text = (store.path(nodes["evaluate"]) / "scores.json").read_text()
    scores = json.loads(text)
    scores["measures"]["RR@10"][0] += 1e-9
    forge(store, nodes["evaluate"], "scores.json", json.dumps(scores, ensure_ascii=False))
    assert store.state(nodes["evaluate"]) == "stored"
    again = _again(store)
    assert {one.agreement for stage, one in again.items() if stage != "evaluate"} == {"bits"}
    assert again["evaluate"].agreement == "none"
    assert again["evaluate"].why == "scores.json: 1 of 12 numbers differ, the most by 1e-09"


def test_last_bits_of_a_logarithm_agree_to_the_tolerance_and_those_of_a_search_do_not(made):
    store, nodes = made
    scores = json.loads((store.path(nodes["evaluate"]) / "scores.json").read_text())
    scores["measures"]["nDCG@10"][0] += 1e-14
    forge(store, nodes["evaluate"], "scores.json", json.dumps(scores, ensure_ascii=False))
    lines = (store.path(nodes["search"]) / "run.trec").read_text().splitlines(keepends=True)
    fields = lines[0].split()
    fields[4] = repr(float(fields[4]) * (1 + 1e-7))
    forge(store, nodes["search"], "run.trec", " ".join(fields) + "\n" + "".join(lines[1:]))
    again = _again(store)
    assert again["evaluate"].agreement == "tolerance" and 0 < again["evaluate"].difference < 1e-13
    assert again["search"].agreement == "none" and again["mine"].agreement == "bits"


def test_the_sample_follows_from_the_seed(made):
    store, nodes = made
    for depth in range(1, 9):
        other = Node("search", {"depth": depth}, nodes["search"].inputs)
        store.build(other, lambda out: None, waiting=lambda: None)
    drawn = [[n.fingerprint for n in draw(store, size=4, seed=seed).nodes] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    sample = draw(store, size=4, seed=0)
    assert sample.of == {"search": 9, "mine": 1, "evaluate": 1} and len(sample.nodes) == 6
    assert sample.left_out == {"qrels": 1, "encode": 2}  # read from outside; from a model that is not stored


def test_records_are_enough_where_there_are_no_notes_as_far_as_inputs_are_stored(made):
    store, nodes = made
    shutil.rmtree(store.root / "nodes")
    assert draw(store, size=9, seed=0).nodes == []  # of the vectors' own inputs nothing is known
    store.remember(nodes["passages"].parents())
    assert {node.stage for node in draw(store, size=9, seed=0).nodes} == {"search", "mine", "evaluate"}


def test_an_artefact_of_an_earlier_version_is_left_out(made, monkeypatch):
    from dataclasses import replace

    from repro.stage_table import STAGES

    store, _ = made
    monkeypatch.setitem(STAGES, "search", replace(STAGES["search"], version=99))
    sample = draw(store, size=9, seed=0)
    assert sample.nodes == [] and sample.left_out["search"] == 1


@pytest.mark.parametrize(
    "error, agreement", [(BlockedError("no Java", "install one"), "blocked"), (ValueError("no"), "failed")]
)
def test_a_stage_that_fails_or_lacks_something_says_so(made, monkeypatch, error, agreement):
    def fails(*_):
        raise error

    monkeypatch.setattr(evaluate, "run", fails)
    one = _again(made[0])["evaluate"]
    assert one.agreement == agreement and str(error) in one.why


def test_half_precision_has_a_tolerance_of_its_own(made, monkeypatch):
    store, nodes = made
    monkeypatch.setattr(recomputation, "run_stage", lambda *_: None)
    for precision, tolerance in (("fp32", 1e-5), ("bf16", 1e-2)):
        node = Node("encode", {"kind": "passages", "precision": precision}, nodes["passages"].inputs)
        store.build(node, lambda out: None, waiting=lambda: None)
        assert recomputation._recompute_node(node, store).tolerance == tolerance
