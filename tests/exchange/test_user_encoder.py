"""An encoder is found by directory or name, and known by the bytes of all of its files."""

import pytest

from repro.errors import BlockedError, UsageError
from repro.exchange.user_encoder import UserEncoder
from repro.nn.encoder_conventions import Conventions
from repro.running.requirements import Machine


def directory(folder):
    (folder / "2_Dense").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "2_Dense/weights").write_text("1")
    return folder


def fingerprint(folder):
    node = UserEncoder.find(str(folder), None).node(Conventions())
    return Machine(None, None).resolve(node).fingerprint


def test_a_directory_is_the_same_encoder_wherever_it_lies(tmp_path):
    first, second = directory(tmp_path / "a"), directory(tmp_path / "b")
    (second / ".cache").mkdir()
    (second / ".cache/notes").write_text("what a download leaves")
    assert fingerprint(first) == fingerprint(second)


def test_a_change_in_a_module_makes_it_another(tmp_path):
    before = fingerprint(directory(tmp_path / "a"))
    (tmp_path / "a/2_Dense/weights").write_text("2")
    assert fingerprint(tmp_path / "a") != before


def test_a_model_of_the_data_folder_is_found_by_its_name(tmp_path):
    directory(tmp_path / "models/acme/encoder")
    found = UserEncoder.find("acme/encoder", tmp_path)
    assert found.folder == tmp_path / "models/acme/encoder" and found.name == "acme/encoder"


@pytest.mark.parametrize("name", ["acme/encoder", "a b", "a/b/c", "", "/nowhere/at/all", "..", "~"])
def test_what_is_no_encoder_is_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises((BlockedError, UsageError), match=r"is neither a directory|it is no model directory"):
        UserEncoder.find(name, None)
