import pytest

from repro.machine import versions
from repro.stage_table import STAGES


@pytest.fixture
def installed(monkeypatch):
    here = {"torch": "2.13.0+cpu", "python": "3.11.7", "java": "21.0.8"}
    monkeypatch.setattr(versions, "installed", here.get)


@pytest.mark.parametrize(
    "recorded",
    [
        {"torch": "2.13.0+cpu", "python": "3.11.7"},
        {"torch": "2.13.0", "python": "3.13.1", "java": "21.0.2"},
        {"torch": "2.13.0 and 2.13.0+cpu"},
        {"transformers": "1.0", "pyarrow": "1.0"},
        {},
    ],
)
def test_the_same_version_in_what_matters_is_no_difference(installed, recorded):
    assert versions.differing(recorded) == {}


@pytest.mark.parametrize(
    ("name", "version", "sentence"),
    [
        ("torch", "1.0.0", "torch 1.0.0 (here 2.13.0+cpu)"),
        ("torch", "2.13.1+cpu", "torch 2.13.1+cpu (here 2.13.0+cpu)"),
        ("torch", "1.0.0 and 2.13.0", "torch 1.0.0 and 2.13.0 (here 2.13.0+cpu)"),
        ("python", "2.7.18", "python 2.7.18 (here 3.11.7)"),
        ("java", "17.0.8", "java 17.0.8 (here 21.0.8)"),
    ],
)
def test_another_version_is_named(installed, name, version, sentence):
    assert versions.differing({name: version}) == {name: sentence}


def test_absent_libraries_and_those_that_change_nothing_are_not_compared(installed):
    assert versions.comparable({"torch": "1", "transformers": "1", "pyarrow": "1"}) == ["torch"]


def test_a_stage_has_the_libraries_that_change_what_it_gives():
    assert {"python", "java", "pyserini"} == set(versions.used_by(["bm25", "lucene_index"]))
    assert {"torch", "transformers", "tokenizers", "numpy"} <= set(versions.used_by(["encode"]))
    assert "torch" not in versions.used_by(["evaluate"])


def test_the_table_names_stages_that_are_there_and_software_that_records_name():
    stages = set().union(*(one.stages or () for one in versions.LIBRARIES.values()))
    assert stages <= STAGES.keys() and STAGES.keys() >= versions.SUMMING
    assert versions.LIBRARIES.keys() <= {"python", "java", *versions.DISTRIBUTIONS}


def test_versions_of_several_artefacts_are_joined():
    several = [{"torch": "2.0"}, {"torch": "1.0", "pyarrow": "1"}, {"torch": "2.0"}]
    assert versions.joined(several) == {"torch": "1.0 and 2.0"}


def test_versions_are_looked_up_once(monkeypatch):
    versions.installed("numpy")
    monkeypatch.setattr("importlib.metadata.version", None)
    assert versions.installed("numpy")
