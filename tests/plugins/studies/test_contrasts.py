"""Pairs of a study: which are compared, what is corrected together, and each verdict."""

import numpy as np
import pytest

from repro.plugins.studies.analysis_schema import TableAnalysis
from repro.plugins.studies.contrasts import WITHIN, contrasts, difference, floor_standings
from repro.retrieval.evaluation.crossed import estimate
from repro.retrieval.evaluation.p_values import holm

QUERIES = 150


def _row(mean, *, seeds=5, number=0, spread=0.05):
    rng = np.random.default_rng(number)
    return {
        seed: {f"q{i}": float(x) for i, x in enumerate(mean + spread * rng.normal(size=QUERIES))}
        for seed in range(1, seeds + 1)
    }


def _judged(means, *, families, level=0.05, **analysis):
    rows = {name: _row(mean, number=n) for n, (name, mean) in enumerate(means.items())}
    made = TableAnalysis.model_validate({"table": "1", "families": families, **analysis})
    return {(c.family, c.row, c.against): c for c in contrasts(made, {"c": rows}, level=level)}


def _family(*rows, against=None, id="f"):
    return {"id": id, "label": "them", "rows": rows, "against": against}


def test_a_difference_is_taken_query_by_query_and_over_the_seeds_of_both():
    ours, theirs = _row(0.5, seeds=5), _row(0.3, seeds=3, number=1)
    queries = sorted(ours[1], reverse=True)
    expected = estimate([[ours[s][q] - theirs[s][q] for s in (1, 2, 3)] for q in queries])
    found = difference(ours, theirs)
    assert (found.mean, found.error) == (pytest.approx(expected.mean), pytest.approx(expected.error))
    assert found.seeds == 3 and found.queries == QUERIES
    assert difference(_row(0.5, seeds=1), theirs) is None and difference({9: ours[1]}, theirs) is None


def test_a_row_that_is_surely_higher_is_above_lower_below_and_near_it_not_told_apart():
    means = {"base": 0.3, "high": 0.4, "low": 0.2, "near": 0.3}
    found = _judged(means, families=[_family("high", "low", "near", against="base")])
    verdicts = {row: c.verdict for (_, row, _), c in found.items()}
    assert verdicts == {"high": "above", "low": "below", "near": "not told apart"}


def test_what_lies_within_the_difference_that_matters_is_told_to_be_so_or_slight():
    found = _judged(
        {"base": 0.3, "same": 0.3, "little": 0.32},
        families=[_family("same", "little", against="base")],
        matters={"c": 4.0},
    )
    same, little = found["f", "same", "base"], found["f", "little", "base"]
    assert (same.verdict, little.verdict) == (WITHIN, "slightly above")
    assert (same.verdict_in_words, little.verdict_in_words) == ("within ±4 points", "slightly above")
    assert little.holm <= 0.05 < same.holm and little.matters == pytest.approx(0.04)
    assert max(little.within, same.within) <= 0.05
    wider = _judged(
        {"base": 0.3, "same": 0.3}, families=[_family("same", against="base")], matters={"c": 0.1}
    )
    assert wider["f", "same", "base"].verdict == "not told apart"


def test_to_lie_within_is_two_one_sided_tests_each_at_the_level_of_the_study():
    """Its interval is that of a confidence of 1 - 2 level: 90 % at .05, which is narrower than 95 %."""
    means, families = {"base": 0.3, "same": 0.3}, [_family("same", against="base")]
    found = _judged(means, families=families)["f", "same", "base"].difference
    reach, wider = (max(map(abs, found.interval(confidence))) for confidence in (0.9, 0.95))
    assert reach < 0.99 * wider
    for matters, verdict in {1.001 * reach: WITHIN, 0.999 * reach: "not told apart"}.items():
        judged = _judged(means, families=families, matters={"c": 100 * matters})
        assert judged["f", "same", "base"].verdict == verdict


def test_to_lie_within_is_corrected_for_all_planned_pairs_of_the_family():
    """A margin that one test just meets is too narrow where two pairs are planned: Holm doubles its p."""
    means = {"base": 0.3, "same": 0.3}
    alone, planned = ([_family("same", *more, against="base")] for more in ((), ("absent",)))
    found = _judged(means, families=alone)["f", "same", "base"].difference
    reach, wider = (100 * max(map(abs, found.interval(1 - 2 * level))) for level in (0.05, 0.025))
    for families, margin, verdict in (
        (alone, 1.001 * reach, WITHIN),
        (planned, 1.001 * reach, "not told apart"),
        (planned, 1.001 * wider, WITHIN),
    ):
        judged = _judged(means, families=families, matters={"c": margin})["f", "same", "base"]
        assert (judged.verdict, judged.within <= 0.05) == (verdict, verdict == WITHIN)


def test_a_row_stands_above_the_floor_by_a_test_at_the_level_that_nothing_corrects():
    rows = {"random": _row(0.3), "a": _row(0.31, number=1), "b": _row(0.3, number=2)}
    families = [_family("a", against="b")]
    analysis = TableAnalysis.model_validate({"table": "1", "families": families, "floor": "random"})
    p = difference(rows["a"], rows["random"]).p
    assert 0 < p < 0.5
    above, below = (floor_standings(analysis, rows, level=level)["a"] for level in (1.001 * p, 0.999 * p))
    assert (above, below) == ("above", "not above")
    lower = {"random": rows["a"], "a": rows["random"]}
    assert floor_standings(analysis, lower, level=1.001 * p)["a"] == "below"


def test_nothing_is_concluded_where_the_better_row_is_not_above_the_floor_but_the_floor_is_compared():
    means = {"random": 0.3, "fallen": 0.2, "level": 0.3, "good": 0.4, "better": 0.5}
    families = [
        _family("better", "fallen", "level", against="good", id="f"),
        _family("good", "fallen", against="random", id="g"),
        _family("fallen", against="level", id="h"),
    ]
    found = _judged(means, families=families, floor="random")
    assert found["f", "better", "good"].verdict == "above"
    assert found["f", "fallen", "good"].verdict == found["f", "level", "good"].verdict == "below"
    assert found["h", "fallen", "level"].verdict == "at the floor"
    assert found["g", "good", "random"].verdict == "above"
    assert found["g", "fallen", "random"].verdict == "below"


def test_where_the_floor_is_not_measured_nothing_is_tested_against_it():
    analysis = TableAnalysis.model_validate(
        {"table": "1", "families": [_family("a", against="b")], "floor": "random"}
    )
    rows = {"a": _row(0.9), "b": _row(0.1, number=1)}
    assert floor_standings(analysis, rows, level=0.05) == {"a": "not tested", "b": "not tested"}
    [c] = contrasts(analysis, {"c": rows}, level=0.05)
    assert c.verdict == "not tested" and c.difference is not None
    few = {"a": _row(0.9, seeds=1), "random": _row(0.1, seeds=1, number=1)}
    assert floor_standings(analysis, few, level=0.05) == {"a": "not tested"}


def test_p_values_are_corrected_for_all_planned_pairs_of_a_family_also_those_not_measured():
    means = {"a": 0.3, "b": 0.312, "c": 0.31, "d": 0.305}
    families = [_family("a", "b", "c", "absent", id="all"), _family("d", against="a", id="one")]
    found = _judged(means, families=families)
    assert set(found) == {("all", "a", "b"), ("all", "a", "c"), ("all", "b", "c"), ("one", "d", "a")}
    together = [c for (family, *_), c in found.items() if family == "all"]
    padded = holm([*(c.difference.p for c in together), 1.0, 1.0, 1.0])
    assert [c.holm for c in together] == padded[:3]
    alone = found["one", "d", "a"]
    assert alone.holm == alone.difference.p
    assert [together[0].level, alone.level] == [pytest.approx(0.05 / 6), 0.05]


def test_a_difference_that_is_the_same_for_all_queries_and_seeds_is_not_tested():
    base = _row(0.3)
    rows = {"b": base, "a": {seed: {q: x + 0.1 for q, x in of.items()} for seed, of in base.items()}}
    analysis = TableAnalysis.model_validate({"table": "1", "families": [_family("a", against="b")]})
    [c] = contrasts(analysis, {"c": rows}, level=0.05)
    assert c.verdict == "not tested" and c.difference is None
