"""Faults planted one by one in invented sources of several styles, and the sources without faults.

A fault marked ``missed`` in ``faults.yaml`` is not found yet.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from repro.plugins.manuscripts.auditing import audited

FOLDERS = [Path(__file__).with_name(name) for name in ("planted", "referee")]
SOURCES = sorted(path for folder in FOLDERS for path in folder.iterdir() if path.suffix != ".yaml")
FAULTS = [
    pytest.param(folder / name, *fault, marks=[pytest.mark.xfail(strict=True)] if missed else [])
    for folder in FOLDERS
    for name, *fault, missed in (
        (*each[:4], len(each) > 4)
        for each in yaml.safe_load((folder / "faults.yaml").read_text(encoding="utf-8"))
    )
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_source_without_faults_has_no_finding(path):
    assert audited(path).findings == []


@pytest.mark.parametrize(("source", "old", "new", "check"), FAULTS, ids=lambda each: str(each)[-30:])
def test_a_planted_fault_is_found_at_its_place(source, old, new, check, tmp_path):
    path = tmp_path / source.name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
    files = sorted(path.rglob("*.*")) if path.is_dir() else [path]
    [changed] = [file for file in files if old in file.read_text(encoding="utf-8")]
    text = changed.read_text(encoding="utf-8")
    assert text.count(old) == 1
    changed.write_text(text.replace(old, new), encoding="utf-8")
    found = audited(path, is_known_compared=check == "published").findings
    line = text[: text.index(old)].count("\n") + 1
    is_anywhere = "over" in old and check == "average"  # a caption, told at its column
    assert any(f.check == check and (is_anywhere or abs(f.place.line - line) <= 1) for f in found), found
    assert len(found) <= 3, found  # e.g. a wrong value is also a wrong difference


def test_at_least_forty_faults_of_most_checks_are_planted():
    assert len(FAULTS) >= 40 and len(Counter(each.values[-1] for each in FAULTS)) >= 14
