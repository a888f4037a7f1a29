"""Values kept in the user's cache."""

import datetime
import os

import pytest

from repro.machine import file_cache
from repro.machine.file_cache import kept


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(file_cache, "folder", lambda: tmp_path / "kept")
    return tmp_path / "kept"


def fails():
    raise AssertionError("made again")


VALUE = {"a": [1, 2.5, True, None], "ü": {"b": "†"}}


def test_a_value_is_made_once_per_name_and_text(folder):
    assert kept("one", b"text", lambda: VALUE) == VALUE == kept("one", b"text", fails)
    assert kept("two", b"text", lambda: 2) == 2
    assert kept("one", b"other", lambda: 3) == 3 == kept("one", b"other", fails)
    with pytest.raises(AssertionError, match="made again"):
        kept("one", b"text", fails)  # each name has one value
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("value", [{1: "a"}, datetime.date(2026, 1, 2), (1, 2), {"a": b"\xff"}])
def test_a_value_that_json_changes_is_not_kept(folder, value):
    assert kept("one", b"text", lambda: value) == value == kept("one", b"text", lambda: value)
    assert not folder.exists()


@pytest.mark.parametrize("content", [b"", b"[", b"3", b"[]", b'["key", 1, 2]', b"\xff"])
def test_a_damaged_file_is_replaced(folder, content):
    kept("one", b"text", lambda: 1)
    (path,) = folder.iterdir()
    path.write_bytes(content)
    assert kept("one", b"text", lambda: 2) == 2
    assert kept("one", b"text", fails) == 2


def test_a_folder_that_cannot_be_written_is_no_failure(folder):
    folder.write_text("a file")
    assert kept("one", b"text", lambda: 1) + kept("one", b"text", lambda: 2) == 3


def test_a_name_of_any_bytes_and_no_home_folder_are_no_failure(folder, monkeypatch):
    assert kept("\udcff", b"text", lambda: 1) == 1 == kept("\udcff", b"text", fails)

    def no_home():
        raise RuntimeError

    monkeypatch.setattr(file_cache, "folder", no_home)
    assert kept("one", b"text", lambda: 2) == 2


def test_many_files_are_thinned_out_oldest_first(folder, monkeypatch):
    monkeypatch.setattr(file_cache, "MOST", 4)
    for number in range(5):
        kept(str(number), b"text", lambda: number)  # noqa: B023
        for path in folder.iterdir():
            os.utime(path, (path.stat().st_mtime - 10,) * 2)
    assert len(list(folder.iterdir())) == 3
    assert [kept(name, b"text", fails) for name in "234"] == [2, 3, 4]


def test_an_edit_of_the_maker_s_module_makes_the_value_again(tmp_path):
    def of(text):
        (tmp_path / "maker.py").write_text(text)
        exec(compile(text, tmp_path / "maker.py", "exec"), names := {})
        return kept("one", b"text", names["make"])

    assert [of("make = lambda: 1"), of("make = lambda: 2")] == [1, 2]
    assert [kept("one", b"text", eval(f"lambda: {number}")) for number in (3, 4)] == [3, 4]
