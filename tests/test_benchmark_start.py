"""The benchmark of whole processes: each verb does the work that its row names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repro.store import Store
from repro.store.leftovers import leftovers


@pytest.fixture
def start(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")  # its scripts find each other so
    import start

    return start


def test_gc_is_told_for_a_store_with_and_without_something_old(start, monkeypatch, tmp_path):
    going = []

    def measured(words, tree):
        if "gc" in words:
            store = Store(Path(words[words.index("--store") + 1]))
            going.append([item.kind for item in leftovers(store, set(), keep_days=14)])
        return 1.0, 1

    monkeypatch.setattr(start, "measured", measured)
    monkeypatch.setattr("sys.argv", ["start.py", "--rounds", "1", "--out", str(tmp_path)])
    start.main()
    assert going == [[], ["artefact"]] * 2
    [record] = (tmp_path / "records").iterdir()
    rows = [row["command"] for row in json.loads(record.read_text())["rows"]]
    assert [row for row in rows if "gc" in row] == [
        "repro store gc, nothing old",
        "repro store gc, an old artefact",
    ]
