from __future__ import annotations

import pytest

from repro.store.disk import intact, read_note, write_note


@pytest.fixture
def note(tmp_path):
    (tmp_path / "rows").write_bytes(b"abc")
    write_note(tmp_path / "rows.json", [tmp_path / "rows"], origin=["run", 1])
    return tmp_path / "rows.json"


def test_a_note_holds_as_long_as_its_files_and_expected_values_are_as_noted(note):
    assert intact(note, origin=["run", 1])["origin"] == ["run", 1]
    assert intact(note, origin=["run", 2]) is None and intact(note, other=1) is None
    (note.parent / "rows").write_bytes(b"abd")
    assert intact(note) is None and read_note(note) is not None
    (note.parent / "rows").unlink()
    assert intact(note) is None


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", '{"sha256": 1}'])
def test_a_note_that_cannot_be_read_holds_for_nothing(note, content):
    note.write_text(content)
    assert intact(note) is None


def test_files_of_known_digests_are_not_read_again(note):
    write_note(note, [note.parent / "rows"], known={"rows": "0" * 64})
    assert read_note(note)["sha256"] == {"rows": "0" * 64}
