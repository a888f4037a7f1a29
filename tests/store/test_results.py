"""Records are appended, never lost and never doubled."""

from dataclasses import replace

import pytest

from repro.errors import DataError
from repro.store.results import Record, Results

ONE = Record("p/1/r/c", "tiny", 0.5, None, "f" * 64, 10, 0, "RR@10", "fraction")


def test_what_is_appended_is_read_back(tmp_path):
    results = Results(tmp_path)
    assert len(results.append([ONE, replace(ONE, seed=2)])) == 2
    assert results.read("tiny", "p") == [ONE, replace(ONE, seed=2)]
    assert results.read("full", "p") == []


def test_the_same_measurement_is_recorded_once(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    assert results.append([replace(ONE, recorded="later")]) == []
    assert len(results.append([replace(ONE, fingerprint="e" * 64)])) == 1


def test_a_line_cut_short_by_a_kill_is_dropped_and_the_next_one_is_whole(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    with path.open("a") as stream:
        stream.write('{"cell": "p/1/r')
    assert results.read("tiny", "p") == [ONE]
    results.append([replace(ONE, seed=3)])
    assert [r.seed for r in results.read("tiny", "p")] == [None, 3]


def test_a_broken_record_is_named_with_its_line(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    with results.path("tiny", "p").open("a") as stream:
        stream.write("{}\n")
    with pytest.raises(DataError, match=r"p\.jsonl:2: not a record"):
        results.read("tiny", "p")
