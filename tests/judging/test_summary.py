"""Counts: what the suite measured and says, and what others ran, which is in none of it."""

from dataclasses import replace

from repro.judging.compared import ComparedCell
from repro.judging.imported import ImportedRun
from repro.judging.summary import conditions, cut_measures, stand_ins, summarise
from repro.judging.verdict import Verdict
from repro.manifest.cells import cell
from repro.store.results import Record

BEIR = "cotmae_v2/3/bm25/"


def _record(identifier, fingerprint, **changes):
    return Record(identifier, "full", 32.5, None, fingerprint, 50, 0, "nDCG@10", "percent", **changes)


def _compared(column, fingerprint, verdict="exact", **changes):
    records = (_record(BEIR + column, fingerprint, deviation=10.0),) if fingerprint else ()
    return ComparedCell(cell(BEIR + column), "full", records, Verdict(verdict, "", difference=0.0), **changes)


def test_cells_that_share_an_evaluation_and_a_measure_are_one_measurement():
    counted = summarise([_compared("nfcorpus", "a"), _compared("scifact", "a"), _compared("nq", "b")])
    assert (counted.measured, counted.measurements, counted.passing) == (3, 2, 3)


def test_an_average_is_no_measurement_beside_those_that_it_averages():
    average = _compared("average", "of many")
    assert summarise([_compared("nfcorpus", "a"), average]).measurements == 1
    assert summarise([average]).measurements == 1


def test_what_others_ran_counts_by_itself():
    run = ImportedRun(_record(BEIR + "nq", "theirs", origin={"file": "a"}), Verdict("lower", "why"))
    others = [_compared(c, "", "blocked", imported=(run,)) for c in ("nq", "scifact")]
    counted = summarise([_compared("nfcorpus", "a"), *others])
    assert (counted.measured, counted.measurements, counted.passing, counted.failing) == (1, 1, 1, 0)
    assert (counted.imported, counted.imported_runs, counted.only_imported) == (2, 1, 2)
    assert (counted.inside, counted.intervals) == (1, 1)


def test_stand_ins_are_named_beside_what_they_replace():
    tiny = [
        replace(_compared(c, "a"), scale="tiny", collections=("tiny/zeroshot",))
        for c in ("nfcorpus", "scifact")
    ]
    assert stand_ins(tiny[:1]) == "tiny/zeroshot in place of beir/nfcorpus/test"
    assert stand_ins(tiny) == "tiny/zeroshot in place of 2 collections"
    assert stand_ins([_compared("nfcorpus", "a", collections=("beir/nfcorpus/test",))]) == ""


def test_a_measure_that_looks_deeper_than_the_scale_searches_is_told():
    column, deep = (
        _compared("nfcorpus", "a"),
        "nDCG@10: the first 5 documents only, as this scale searches no deeper",
    )
    assert cut_measures([column]) == conditions([column]) == ""
    assert cut_measures([replace(column, cut_at=5), _compared("scifact", "", cut_at=5)]) == deep
    assert cut_measures([_compared("scifact", "", cut_at=5)]) == ""  # not measured
    tiny = replace(column, cut_at=5, scale="tiny", collections=("tiny/zeroshot",))
    assert conditions([tiny]) == f"measured on tiny/zeroshot in place of beir/nfcorpus/test; {deep}"
