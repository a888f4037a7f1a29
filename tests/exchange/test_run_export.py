"""The record of a cell that gives its exported run."""

from dataclasses import replace

from repro.exchange.run_export import ExportedRun, _preferred_record
from repro.graph import Node
from repro.store import Store
from repro.store.results import Record, Results

CELL = "costa/1/sparse.bm25/dev.rr10"
USUAL = Record(CELL, "tiny", 0.5, None, "a" * 64, 9, 0, "RR@10", "fraction")


def test_the_newest_of_the_suites_own_with_default_readings_and_no_chosen_seed_comes_first(tmp_path):
    store, results = Store(tmp_path / "s"), Results(tmp_path / "r")
    other = replace(USUAL, fingerprint="b" * 64, readings={"bm25-parameters": "anserini-default"})
    imported = replace(USUAL, fingerprint="c" * 64, origin={"kind": "import"})
    stand_in = replace(other, fingerprint="d" * 64, substitutes={"bm25-parameters": "not here"})
    seeded = replace(USUAL, fingerprint="e" * 64, seed=5)
    expectations = [(imported, imported), (other, other), (seeded, seeded), (USUAL, USUAL)]
    for added, expected in (*expectations, (seeded, USUAL), (other, USUAL), (stand_in, stand_in)):
        results.append([added])
        assert _preferred_record(CELL, store, results, "tiny") == expected


def test_a_record_whose_run_is_stored_comes_before_one_whose_is_not(tmp_path):
    store, results = Store(tmp_path / "s"), Results(tmp_path / "r")
    run = Node("imported_run", {"sha256": "0"})
    evaluation = Node("evaluate", {"measures": []}, {"run": run, "qrels": Node("qrels", {"dataset": "x"})})
    seeded = replace(USUAL, fingerprint=evaluation.fingerprint, seed=5)
    results.append([seeded, USUAL])
    store.remember([run, evaluation.input("qrels"), evaluation])
    assert _preferred_record(CELL, store, results, "tiny") == USUAL, "noted, but not stored"
    store.build(run, lambda out: (out / "run.trec").write_text("") and None)
    assert _preferred_record(CELL, store, results, "tiny") == seeded
    assert ", measured with seed 5, recorded" in ExportedRun(tmp_path, evaluation, seeded).described
