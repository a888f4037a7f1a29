import warnings

import numpy as np
import pytest

from repro.retrieval.evaluation.agreement import kendall_union, rank_biased_overlap, root_mean_square_error
from tests.floats import close

warnings.filterwarnings("ignore", category=DeprecationWarning)


def two_runs(seed: int, *, topics: int = 6, documents: int = 40, depth: int = 25):
    random = np.random.default_rng(seed)
    runs = []
    for _ in range(2):
        run = {}
        for topic in range(topics):
            chosen = random.permutation(documents)[:depth]
            run[f"t{topic}"] = [(f"d{d:02d}", float(depth - i)) for i, d in enumerate(chosen)]
        runs.append(run)
    return runs


def as_dictionaries(run):
    return {topic: dict(pairs) for topic, pairs in run.items()}


@pytest.mark.parametrize("seed", range(3))
def test_kendalls_tau_of_the_union_is_repro_evals(seed):
    document_order = pytest.importorskip("repro_eval.measure.document_order")
    first, second = two_runs(seed)
    for depth in (5, 1000):
        theirs = document_order.KTU(as_dictionaries(first), as_dictionaries(second), trim_thresh=depth)
        close(kendall_union(first, second, depth=depth), theirs, summands=1)
    assert theirs != 0


@pytest.mark.parametrize("persistence", [0.8, 0.95])
def test_rank_biased_overlap_is_repro_evals(persistence):
    document_order = pytest.importorskip("repro_eval.measure.document_order")
    first, second = two_runs(7)
    for depth in (10, 1000):
        theirs = document_order.RBO(
            as_dictionaries(first), as_dictionaries(second), persistence, depth, pbar=False, per_topic=False
        )
        found = rank_biased_overlap(first, second, persistence=persistence, depth=depth)
        close(found, theirs)
        assert 0 < found < 1


def test_the_defaults_are_repro_evals():
    repro_eval = pytest.importorskip("repro_eval")
    from repro.retrieval.evaluation.agreement import DEPTH, PERSISTENCE

    assert (DEPTH, DEPTH, PERSISTENCE) == (repro_eval.RUN_LENGTH, repro_eval.RBO_DEPTH, repro_eval.RBO_P)


def test_error_is_repro_evals():
    effectiveness = pytest.importorskip("repro_eval.measure.effectiveness")
    random = np.random.default_rng(1)
    first, second = random.random(20).tolist(), random.random(20).tolist()
    a, b = ({f"t{i}": {"map": x} for i, x in enumerate(values)} for values in (first, second))
    assert root_mean_square_error(first, second) == pytest.approx(effectiveness.RMSE(a, b)["map"])


def test_only_topics_of_both_runs_count_and_rankings_are_cut_to_the_shorter():
    first = {"1": [("a", 3.0), ("b", 2.0), ("c", 1.0)], "2": [("a", 1.0)]}
    second = {"1": [("a", 2.0), ("b", 1.0)], "3": [("a", 1.0)]}
    assert kendall_union(first, second) == 1
    assert kendall_union({"2": [("a", 1.0)]}, {"2": [("a", 1.0)]}) is None
    assert rank_biased_overlap({"2": []}, {"3": []}) is None
    assert rank_biased_overlap({"1": [("a", 1.0)]}, {"1": [("b", 1.0)]}) == 0
