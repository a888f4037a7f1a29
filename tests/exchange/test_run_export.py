"""Which record of a cell its exported run is taken from."""

from dataclasses import replace

from repro.exchange.run_export import _newest_record
from repro.store.results import Record, Results

CELL = "costa/1/sparse.bm25/dev.rr10"
USUAL = Record(CELL, "tiny", 0.5, None, "a" * 64, 9, 0, "RR@10", "fraction")


def test_the_newest_of_the_suites_own_with_default_readings_comes_first(tmp_path):
    other = replace(USUAL, fingerprint="b" * 64, readings={"bm25-parameters": "anserini-default"})
    imported = replace(USUAL, fingerprint="c" * 64, origin={"kind": "import"})
    stand_in = replace(other, fingerprint="d" * 64, substitutes={"bm25-parameters": "not here"})
    for added, expected in ((imported, imported), (other, other), (USUAL, USUAL), (other, USUAL)):
        Results(tmp_path).append([added])
        assert _newest_record(CELL, Results(tmp_path), "tiny") == expected
    Results(tmp_path).append([stand_in])
    assert _newest_record(CELL, Results(tmp_path), "tiny") == stand_in
