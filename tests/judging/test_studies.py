"""Rows of several seeds against one row of reference."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from repro.graph import Node
from repro.judging.studies import Cost, Entry, _cost, _tested, training_hours


def _scores(rows):
    """(row, column) -> seed -> query -> score."""
    return {
        (row, "c"): {s: {f"q{i}": float(x) for i, x in enumerate(values)} for s, values in seeds.items()}
        for row, seeds in rows.items()
    }


def test_queries_are_the_means_of_their_seeds_and_tested_in_pairs():
    rng = np.random.default_rng(0)
    base, other = rng.random((2, 30)), rng.random((2, 30))
    found = _tested(_scores({"base": {1: base[0], 2: base[1]}, "x": {1: other[0], 2: other[1]}}), "base")
    expected = ttest_rel(other.mean(axis=0), base.mean(axis=0))
    test = found["x", "c"]
    assert test.p == pytest.approx(expected.pvalue, rel=1e-12) and test.holm == test.p
    assert test.difference == pytest.approx(other.mean() - base.mean(), rel=1e-12)
    assert test.interval[0] < test.difference < test.interval[1]
    assert ("base", "c") not in found


def test_rows_of_other_seeds_or_without_a_difference_are_not_tested():
    scores = _scores({"base": {1: [0.0, 1.0]}, "same": {1: [0.0, 1.0]}, "other": {2: [1.0, 0.0]}})
    assert _tested(scores, "base") == {}
    assert _tested(scores, "absent") == {}


def test_the_interval_over_seeds_is_students_and_needs_two():
    assert Entry({1: 0.5}).half_width is None
    assert Entry({1: 0.5, 2: 0.5}).half_width is None  # what seeds do not change has no variance over them
    entry = Entry({1: 0.1, 2: 0.2, 3: 0.3})
    assert entry.mean == pytest.approx(0.2)
    assert entry.half_width == pytest.approx(4.302652729911275 * 0.1 / 3**0.5)  # t of 0.975 with 2 degrees


def test_seconds_of_an_interrupted_training_are_in_proportion_to_its_last_attempt():
    whole = {"steps": 400, "seconds": 100.0, "flops": 10}
    interrupted = {"steps": 400, "seconds": 30.0, "resumed_at": 300, "flops": 10}
    ended_before = {"steps": 400, "seconds": 0.5, "resumed_at": 400, "flops": 10}
    assert _cost([whole]) == Cost(10, 100.0)
    assert _cost([whole, interrupted]) == Cost(10, 110.0)
    assert _cost([whole, interrupted, ended_before]) == Cost(10, None)


def test_hours_of_a_cell_are_those_of_all_its_trainings_and_unknown_where_one_is_not_stored():
    mlm = {"name": "mlm", "version": 1, "path": ""}
    first, other = (Node("pretrain", {"objective": mlm, "seed": seed}) for seed in (1, 2))
    tuned = [Node("finetune", {"objective": mlm, "seed": seed}, {"model": first}) for seed in (1, 2)]
    measured = [("a", tuned[0]), ("a", tuned[1]), ("b", other), ("c", Node("corpus", {"dataset": "x"}))]
    measurements = [SimpleNamespace(cell=SimpleNamespace(id=cell), parts=(node,)) for cell, node in measured]
    states = dict.fromkeys((n.fingerprint for n in (first, *tuned)), "stored") | {
        other.fingerprint: "missing"
    }
    seconds = {first.fingerprint: 3600.0, tuned[0].fingerprint: 1800.0, tuned[1].fingerprint: 5400.0}
    store = SimpleNamespace(record=lambda node: {"facts": {"steps": 1, "seconds": seconds[node.fingerprint]}})
    assert training_hours(SimpleNamespace(measurements=measurements, states=states), store) == {"a": 2.0}
