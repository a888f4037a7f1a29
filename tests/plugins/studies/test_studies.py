"""A table of a study from the scores of queries."""

from types import SimpleNamespace

import pytest

from repro.manifest.schema import Table
from repro.plugins.studies.contrasts import Analysis
from repro.plugins.studies.studies import Entry, judged, known_scores

TABLE = Table.model_validate(
    {
        "id": "1",
        "kind": "study",
        "about": "rows",
        "delta_from": "base",
        "columns": [{"id": "c"}, {"id": "d"}],
        "rows": [{"id": "base", "label": "B"}, {"id": "x", "label": "X"}, {"id": "y", "label": "Y"}],
    }
)


def _row(*seeds):
    return {number: dict(zip("pqr", scores, strict=True)) for number, scores in enumerate(seeds, 1)}


def test_a_table_without_an_analysis_compares_every_measured_row_with_its_base():
    rows = {"base": _row([0.1, 0.2, 0.3], [0.2, 0.2, 0.4]), "x": _row([0.8, 0.9, 0.9], [0.8, 1.0, 1.0])}
    study = judged(TABLE, Analysis(), {"c": rows})
    [contrast] = study.contrasts
    assert (contrast.row, contrast.against, contrast.column) == ("x", "base", "c")
    assert contrast.difference.mean == pytest.approx(5.4 / 6 - 1.4 / 6)
    assert (study.verdict("x", "base", "c"), study.verdict("base", "x", "c")) == ("above", "below")
    assert study.verdict("x", "y", "c") == "" and study.verdict("x", "base", "d") == ""
    assert study.base("x") == "base" and study.base("base") is None
    assert study.entries["x", "c"].seeds == {1: pytest.approx(2.6 / 3), 2: pytest.approx(2.8 / 3)}
    assert study.seeds == [1, 2]


def test_the_mean_of_a_row_has_an_interval_over_queries_and_seeds_and_needs_two_of_each():
    rows = {"x": _row([0.1, 0.2, 0.3], [0.2, 0.2, 0.4]), "y": _row([0.1, 0.5, 0.2])}
    entries = judged(TABLE, Analysis(), {"c": rows}).entries
    assert entries["x", "c"].half_width == pytest.approx(entries["x", "c"].estimate.half_width(0.95))
    assert entries["y", "c"].half_width is None and entries["y", "c"].mean == pytest.approx(0.8 / 3)
    assert Entry({1: 0.5}).half_width is None


def test_means_are_those_of_the_planned_seeds_and_what_is_missing_of_them_is_said():
    plan = Analysis.model_validate({"seeds": [1, 2, 4], "level": 0.1})
    one, two, other = [0.1, 0.2, 0.3], [0.2, 0.2, 0.4], [0.9, 0.9, 0.9]
    rows = {"base": _row(one, two, other), "x": _row(one), "y": {None: _row(one)[1]}}
    study = judged(TABLE, plan, {"c": rows})
    assert set(study.entries["base", "c"].seeds) == {1, 2} and study.plan.level == 0.1
    assert study.seeds_of_rows == {"base": 2, "x": 1}
    assert study.preliminary == "preliminary: 1 of 3 planned seeds"
    alike = judged(TABLE, plan, {"c": {"base": _row(one), "x": _row(one)}})
    assert alike.preliminary == "preliminary: 1 of 3 planned seeds"
    whole = judged(TABLE, Analysis(seeds=(1, 2)), {"c": {"base": _row(one, two, other), "y": rows["y"]}})
    assert whole.preliminary == "" and set(whole.entries["base", "c"].seeds) == {1, 2}
    unplanned = judged(TABLE, Analysis(seeds=(8, 9)), {"c": rows})
    assert unplanned.preliminary == "preliminary: 0 of 2 planned seeds"
    assert set(unplanned.entries["base", "c"].seeds) == {1, 2, 3}


def test_scores_of_one_evaluation_are_read_where_they_are_known():
    def measurement(seed, *names):
        cell = SimpleNamespace(row=SimpleNamespace(id="x"), column=SimpleNamespace(id="c"))
        return SimpleNamespace(parts=names, cell=cell, seed=seed, measure="RR@10")

    scores = {"a": {"queries": ["p", "q"], "measures": {"RR@10": [0.5, 1.0]}}}
    known = SimpleNamespace(scores=scores.get)
    plan = SimpleNamespace(measurements=[measurement(1, "a"), measurement(2, "b"), measurement(3, "a", "b")])
    assert known_scores(plan, known) == {"c": {"x": {1: {"p": 0.5, "q": 1.0}}}}
