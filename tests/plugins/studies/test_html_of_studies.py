import json
from types import SimpleNamespace

import pytest

from repro.manifest.schema import Table
from repro.plugins.studies.contrasts import Analysis, Confirmatory, Contrast, TableAnalysis
from repro.plugins.studies.studies import Entry, Study
from repro.plugins.studies.writing import StudyTables, contrast_as_json
from repro.retrieval.evaluation.crossed import Estimate, Variances

TABLE = Table(id="1", kind="study", about="rows")
ESTIMATE = Estimate(0.1, 0.02, 1e9, 400, 5, Variances(0.04, 0.0001, 0.01))


def test_an_object_says_what_the_table_says_in_its_unit():
    c = Contrast("f", "c", "x", "base", ESTIMATE, 0.02, 0.025, holm=0.002, verdict="above")
    made = json.loads(json.dumps(contrast_as_json(c, times=100)))
    assert made["interval"] == [pytest.approx(6.08, abs=0.01), pytest.approx(13.92, abs=0.01)]
    assert made["deviations"] == pytest.approx({"queries": 20.0, "seeds": 1.0, "residual": 10.0})
    assert made["smallest_seen"] == pytest.approx(100 * c.smallest_seen)
    keys = ("family", "row", "against", "verdict", "queries", "seeds", "holm_p", "seeds_needed")
    assert [made[key] for key in keys] == ["f", "x", "base", "above", 400, 5, 0.002, None]
    assert (made["difference"], made["matters"]) == (pytest.approx(10.0), pytest.approx(2.0))


def test_what_is_not_tested_has_no_numbers():
    made = contrast_as_json(Contrast("f", "c", "x", "base", None), times=100)
    assert (made["difference"], made["verdict"], made["matters"]) == (None, "not tested", None)
    assert "p" not in made


def test_what_is_preliminary_and_what_is_confirmatory_stands_beside_a_comparison(monkeypatch):
    plan = Analysis(seeds=(1, 2), confirmatory=Confirmatory(table="1", family="f", column="c"))
    entries = {("x", "c"): Entry({1: 0.5})}
    compared = [Contrast(family, "c", "x", "base", None) for family in "fg"]
    study = Study(TABLE, TableAnalysis(table="1"), entries, compared, plan=plan)
    monkeypatch.setattr("repro.plugins.studies.writing.study_of", lambda *_, **__: study)
    facts = StudyTables().facts(SimpleNamespace(name="toy"), TABLE, None, None, None)
    made = facts["toy/1/x/c"]["contrasts"]
    assert [each["confirmatory"] for each in made] == [True, False]
    assert {each["preliminary"] for each in made} == {"preliminary: 1 of 2 planned seeds"}
