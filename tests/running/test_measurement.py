import math

import pytest

from repro.errors import UsageError
from repro.graph import Node
from repro.manifest.cells import cell
from repro.running.measurement import check_depths, cut_at, depth_of
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale


def _run(stage="search", **params):
    return Node(stage, params)


@pytest.mark.parametrize(
    ("below", "depth", "keep", "expected"),
    [(1000, 200, 1000, 1000), (1000, 200, 100, 200), (150, 200, 1000, 150), (1000, 200, 600, 600)],
)
def test_a_reranked_run_has_what_it_orders_anew_and_what_it_keeps_below(below, depth, keep, expected):
    run = Node("rerank", {"depth": depth, "keep": keep}, {"run": _run("bm25", depth=below)})
    assert depth_of(run) == expected


def test_a_run_that_somebody_else_made_says_no_depth():
    assert depth_of(_run("imported_run")) == math.inf


def test_the_shortest_run_counts_where_the_measure_looks_deeper():
    runs = [_run(depth=100), _run(depth=1000)]
    assert cut_at(runs, "R@1000") == 100
    assert cut_at(runs[1:], "R@1000") is cut_at(runs, "R@100") is cut_at([], "R@1000") is None
    check_depths(runs, "nDCG@100")
    with pytest.raises(UsageError, match="its run has 100 documents per query, but R@101 needs 101"):
        check_depths(runs, "R@101")


@pytest.mark.parametrize(
    ("name", "expected"), [("tiny", 100), ("small-cpu", 200), ("small", None), ("full", None)]
)
def test_a_scale_that_searches_less_deep_is_known_of_a_measurement(name, expected):
    cells = [cell("costa/1/bm25neg.bert/dev.r1000"), cell("costa/1/bm25neg.bert/dev.rr10")]
    deep, shallow = plan(cells, scale=scale(name), machine=Machine()).measurements
    assert (deep.cut_at, shallow.cut_at) == (expected, None)
