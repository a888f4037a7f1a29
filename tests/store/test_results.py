"""Records are appended, never lost, never doubled, and never read as something else than was written."""

import hashlib
import json
import random
from dataclasses import replace

import pytest

from repro.errors import DataError
from repro.graph import canonical
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


def test_a_record_of_the_same_result_that_says_more_is_added_and_contradicts_nothing(tmp_path):
    results, fuller = Results(tmp_path), replace(ONE, collections=["tiny/passage/dev"], deviation=0.1)
    results.append([ONE])
    [added] = results.append([fuller])
    assert (added.record, added.contradicted) == (fuller, None)
    assert results.append([ONE]) == []
    assert results.read("tiny", "p") == [ONE, fuller]


def test_a_run_of_others_is_recorded_again_where_its_origin_is_described_otherwise(tmp_path):
    results, theirs = Results(tmp_path), {"kind": "import", "sha256": "f" * 64}
    unknown, known = (
        replace(ONE, origin=theirs | more) for more in ({}, {"source": "o/n@1", "toolkit": "T"})
    )
    results.append([unknown])
    [added] = results.append([known])
    assert (added.record, added.contradicted) == (known, None)
    assert results.append([known]) == results.append([unknown]) == []


def test_the_records_of_a_release_are_read_first_and_never_written(tmp_path):
    Results(tmp_path / "release").append([ONE])
    before = Results(tmp_path / "release").path("tiny", "p").read_bytes()
    results = Results(tmp_path / "own", tmp_path / "release")
    assert results.read("tiny", "p") == [ONE] and results.scales("records") == {"tiny"}
    assert results.append([ONE]) == []
    [added] = results.append([replace(ONE, measured=0.6)])
    assert added.contradicted == ONE
    assert [r.measured for r in results.read("tiny", "p")] == [0.5, 0.6]
    assert Results(tmp_path / "release").path("tiny", "p").read_bytes() == before
    assert results.checked() == (2, [])


def test_a_drawing_of_ones_own_stands_for_that_of_the_release(tmp_path):
    for place in ("release/figures/tiny/a.svg", "release/figures/tiny/b.svg", "own/figures/tiny/b.svg"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    drawn = Results(tmp_path / "own", tmp_path / "release").figures("tiny")
    assert [path.relative_to(tmp_path).parts[0] for path in drawn] == ["release", "own"]


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


def test_another_result_of_the_same_measurement_is_added_and_says_which_it_contradicts(tmp_path):
    results, other = Results(tmp_path), replace(ONE, measured=0.4)
    results.append([ONE])
    [added] = results.append([other])
    assert (added.record, added.contradicted) == (other, ONE)
    assert results.append([other]) == []
    assert [a.contradicted for a in results.append([ONE])] == [other]
    assert [r.measured for r in results.read("tiny", "p")] == [0.5, 0.4, 0.5]


@pytest.mark.parametrize("change", [{"measure": "R@50"}, {"unit": "percent"}, {"readings": {"a": "b"}}])
def test_another_measure_unit_or_reading_is_another_measurement(tmp_path, change):
    results = Results(tmp_path)
    results.append([ONE])
    [added] = results.append([replace(ONE, **change)])
    assert added.contradicted is None


def test_every_line_holds_the_digest_of_the_rest(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    content = json.loads(results.path("tiny", "p").read_text())
    digest = content.pop("sha256")
    assert digest == hashlib.sha256(canonical(content).encode()).hexdigest()


@pytest.mark.parametrize(
    ("hardware", "words"),
    [
        (
            {"gpu": ["a GPU", "a GPU", "another"], "cpu": "a CPU", "cores": 16},
            "2 x a GPU, another, a CPU, 16 cores",
        ),
        ({"gpu": None, "cpu": "a CPU", "cores": 1}, "a CPU, 1 core"),
        (None, ""),
    ],
)
def test_the_machine_of_a_record_is_told_in_words(hardware, words):
    assert replace(ONE, environment={"hardware": hardware}).machine == words
    assert replace(ONE, environment={}).machine == ""


def _records() -> list[Record]:
    environment = {"commit": "c0ffee", "hardware": {"cores": 2, "memory_gib": 23.5}}
    one = replace(ONE, readings={"a": "b"}, environment=environment, recorded="2026-01-01T00:00:00+00:00")
    return [replace(one, seed=seed, measured=seed / 7, substitutes={"s": "nicht da: ü"}) for seed in range(4)]


def test_a_thousand_flipped_bits_are_never_read_as_another_record(tmp_path):
    results, written, draw = Results(tmp_path), _records(), random.Random(0)
    results.append(written)
    path = results.path("tiny", "p")
    sound = path.read_bytes()
    unseen = 0
    for _ in range(1000):
        damaged, place = bytearray(sound), draw.randrange(len(sound) * 8)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            assert results.read("tiny", "p") == written
            unseen += 1
        except DataError as error:
            assert str(error).startswith(f"{path}:")
    assert unseen < 10  # the case of a digit of an escape, which says the same


def test_an_altered_end_of_the_last_line_is_not_taken_for_a_killed_writer(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    path.write_bytes(path.read_bytes()[:-1] + b"\x0b")
    with pytest.raises(DataError, match=r"p\.jsonl:1: not a record: Invalid JSON"):
        results.read("tiny", "p")


def test_every_altered_line_is_named(tmp_path):
    results = Results(tmp_path)
    results.append(_records())
    path = results.path("tiny", "p")
    path.write_text(path.read_text().replace(f'"measured": {1 / 7}', '"measured": 0.9').replace("0.0", "0.5"))
    lines, faults = results.checked()
    assert (lines, [fault.line for fault in faults]) == (4, [1, 2])
    assert "altered: the line is not the one that its sha256 was taken of" in str(faults[1])


@pytest.mark.parametrize("place", [("full", "p"), ("tiny", "other")])
def test_a_record_of_another_scale_or_paper_than_its_file_is_refused(tmp_path, place):
    results = Results(tmp_path)
    results.append([ONE])
    moved = results.path(*place)
    moved.parent.mkdir(parents=True, exist_ok=True)
    moved.write_bytes(results.path("tiny", "p").read_bytes())
    with pytest.raises(DataError, match=r"jsonl:1: a record of p at scale tiny in the file of (p|other) at"):
        results.read(*place)


def test_a_record_without_a_digest_of_its_own_is_refused(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    older = {k: v for k, v in json.loads(path.read_text()).items() if k != "sha256"}
    path.write_text(json.dumps(older) + "\n")
    with pytest.raises(DataError, match=r"p\.jsonl:1: a record without a digest of its own"):
        results.read("tiny", "p")
