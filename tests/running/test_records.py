"""Records made from scores, and which of several counts."""

from types import SimpleNamespace

import pytest

from repro.running.records import known_records
from repro.store.results import Record

EARLIER, LATER = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def record(paper, measured, recorded):
    """A record of one evaluation, which several papers print."""
    identity = {"fingerprint": "f" * 64, "measure": "RR@10", "unit": "fraction"}
    return Record(
        f"{paper}/1/bm25/dev", "tiny", measured, None, queries=9, missing=0, recorded=recorded, **identity
    )


@pytest.mark.parametrize("papers", [("one", "other"), ("other", "one")])
def test_of_two_papers_records_of_one_evaluation_the_newer_counts_for_both(papers):
    by_paper = {"one": [record("one", 0.3, EARLIER)], "other": [record("other", 0.4, LATER)]}
    measurements = [
        SimpleNamespace(
            identity=by_paper[name][0].identity,
            cell=SimpleNamespace(id=f"{name}/1/bm25/dev"),
            seed=None,
            departures={},
        )
        for name in papers
    ]
    plan = SimpleNamespace(measurements=measurements, cells=[])
    known = known_records(plan, [r for name in papers for r in by_paper[name]])
    assert {(r.cell, r.measured) for r in known} == {("one/1/bm25/dev", 0.4), ("other/1/bm25/dev", 0.4)}
