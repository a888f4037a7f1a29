import shutil

import pytest

from repro.errors import BlockedError, UsageError
from repro.graph import Node
from repro.plugins.yours.encoders import UserEncoder
from repro.running.requirements import Machine
from tests.tiny_models import save_tiny_model


@pytest.fixture
def folder(tmp_path):
    save_tiny_model(tmp_path / "made")
    return tmp_path / "made/model"


def fingerprint(folder):
    texts = Node("corpus", {"dataset": "tiny/passage"})
    run = UserEncoder.find(str(folder), None, {}).ranking(texts, texts, depth=10, cap=None)
    return Machine(None, None).resolve(run.inputs["passages"]).fingerprint


def test_a_directory_is_the_same_encoder_wherever_it_lies(folder, tmp_path):
    second = shutil.copytree(folder, tmp_path / "b")
    (second / ".cache").mkdir()
    (second / ".cache/notes").write_text("what a download leaves")
    assert fingerprint(folder) == fingerprint(second)


def test_a_change_in_a_file_makes_it_another(folder):
    before = fingerprint(folder)
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense/weights").write_text("2")
    assert fingerprint(folder) != before


def test_a_model_of_the_data_folder_is_found_by_its_name(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "models/acme/encoder")
    found = UserEncoder.find("acme/encoder", tmp_path, {})
    assert found.label == "acme/encoder"
    assert found.passages["source"]["path"] == str(tmp_path / "models/acme/encoder")


@pytest.mark.parametrize("name", ["acme/encoder", "a b", "a/b/c", "", "/nowhere/at/all", "..", "~"])
def test_what_is_no_encoder_is_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises((BlockedError, UsageError), match=r"is neither a directory|is not a model directory"):
        UserEncoder.find(name, None, {})
