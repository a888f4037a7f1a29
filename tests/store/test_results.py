import hashlib
import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from repro.errors import DataError
from repro.graph import canonical
from repro.locations import CHECKOUT
from repro.store.results import Record, Results, is_future, line_of

ONE = Record("p/1/r/c", "tiny", 0.5, None, "f" * 64, 10, 0, "RR@10", "fraction")


def test_what_is_appended_is_read_back(tmp_path):
    results = Results(tmp_path)
    assert len(results.append([ONE, replace(ONE, seed=2)])) == 2
    assert results.read("tiny", "p") == [ONE, replace(ONE, seed=2)]
    assert results.read("full", "p") == []


def test_records_that_were_read_before_have_the_same_types(tmp_path):
    path = Results(tmp_path).path("tiny", "p")
    path.parent.mkdir(parents=True)
    for measured in (0.5, 1):
        path.write_bytes(line_of(replace(ONE, measured=measured)))
        first, second = (Results(tmp_path).read("tiny", "p") for _ in range(2))
        assert repr(first) == repr(second) and first == [replace(ONE, measured=measured)]


def test_the_same_measurement_is_recorded_once(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    assert results.append([replace(ONE, recorded="2026-01-01T00:00:00+00:00")]) == []
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


def test_a_line_cut_short_by_a_kill_is_dropped_and_the_next_one_is_whole(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    with path.open("a") as stream:
        stream.write('{"cell": "p/1/r')
    assert results.read("tiny", "p") == [ONE]
    results.append([replace(ONE, seed=3)])
    assert [r.seed for r in results.read("tiny", "p")] == [None, 3]


def test_another_result_of_the_same_measurement_is_added_and_says_which_it_contradicts(tmp_path):
    results, other = Results(tmp_path), replace(ONE, measured=0.4)
    results.append([ONE])
    [added] = results.append([other])
    assert (added.record, added.contradicted) == (other, ONE)
    assert results.append([other]) == []
    assert [a.contradicted for a in results.append([ONE])] == [other]
    assert [r.measured for r in results.read("tiny", "p")] == [0.5, 0.4, 0.5]


def test_another_measure_unit_or_reading_is_another_measurement(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    for change in ({"measure": "R@50"}, {"unit": "percent"}, {"readings": {"a": "b"}}):
        [added] = results.append([replace(ONE, **change)])
        assert added.contradicted is None


def _sealed(content: dict) -> str:
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    return json.dumps(content | {"sha256": digest}, sort_keys=True) + "\n"


def _content(record: Record) -> dict:
    return {k: v for k, v in json.loads(line_of(record)).items() if k != "sha256"}


def test_every_line_holds_the_digest_of_the_rest():
    assert line_of(ONE).decode() == _sealed(_content(ONE))


def _records() -> list[Record]:
    environment = {"commit": "c0ffee", "hardware": {"cores": 2, "memory_gib": 23.5}}
    one = replace(ONE, readings={"a": "b"}, environment=environment, recorded="2026-01-01T00:00:00+00:00")
    return [replace(one, seed=seed, measured=seed / 7, substitutes={"s": "nicht da: ü"}) for seed in range(4)]


def test_flipped_bits_are_never_read_as_another_record(tmp_path):
    results, written, draw = Results(tmp_path), _records(), random.Random(0)
    results.append(written)
    path = results.path("tiny", "p")
    sound = path.read_bytes()
    unseen = 0
    for _ in range(300):
        damaged, place = bytearray(sound), draw.randrange(len(sound) * 8)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            assert results.read("tiny", "p") == written
            unseen += 1
        except DataError as error:
            assert str(error).startswith(f"{path}:")
    assert unseen < 3  # the case of a digit of an escape, which says the same


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
    assert "altered: its sha256 does not fit its content" in str(faults[1])


@pytest.mark.parametrize("place", [("full", "p"), ("tiny", "other")])
def test_a_record_of_another_scale_or_paper_than_its_file_is_refused(tmp_path, place):
    results = Results(tmp_path)
    results.append([ONE])
    moved = results.path(*place)
    moved.parent.mkdir(parents=True, exist_ok=True)
    moved.write_bytes(results.path("tiny", "p").read_bytes())
    with pytest.raises(DataError, match=r"jsonl:1: a record of p at scale tiny in the file of (p|other) at"):
        results.read(*place)


def test_a_line_that_is_no_record_or_lacks_a_digest_of_its_own_is_named(tmp_path):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(DataError, match=r"p\.jsonl:2: not a record"):
        results.read("tiny", "p")
    older = {k: v for k, v in json.loads(line_of(ONE)).items() if k != "sha256"}
    path.write_text(json.dumps(older) + "\n")
    with pytest.raises(DataError, match=r"p\.jsonl:1: a record without its own digest"):
        results.read("tiny", "p")


@pytest.mark.parametrize(("name", "value"), [("assumed", False), ("unchecked", [])])
def test_a_line_with_a_retired_field_is_read_where_it_says_nothing(tmp_path, name, value):
    results = Results(tmp_path)
    results.append([ONE])
    path = results.path("tiny", "p")
    path.write_text(_sealed(_content(ONE) | {name: value}))
    assert results.read("tiny", "p") == [ONE]
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(DataError, match="altered"):
        results.read("tiny", "p")
    path.write_text(_sealed(_content(ONE) | {name: ["scores"]}))
    with pytest.raises(DataError, match=f"not a record: {name}"):
        results.read("tiny", "p")


EARLIER, LATER = "2026-01-01T00:00:00+00:00", "2026-01-01T01:30:00+01:00"


def dated(measured, time, **changes):
    return replace(ONE, measured=measured, recorded=time, **changes)


def written(results, *records):
    """The folder with these lines, as a merge may leave them."""
    path = results.path("tiny", "p")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line_of, records)))
    return results


def test_the_time_of_measuring_decides_which_record_counts_not_the_order_of_lines(tmp_path):
    results = written(Results(tmp_path), dated(0.6, LATER), dated(0.5, EARLIER), replace(ONE, measured=0.4))
    assert [r.measured for r in results.read("tiny", "p")] == [0.4, 0.5, 0.6]
    assert [a.contradicted.measured for a in results.append([dated(0.5, LATER)])] == [0.6]


def test_a_record_of_a_time_to_come_counts_before_all_others_and_is_doubtful(tmp_path):
    soon, far = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 48))
    clock_ahead, wrong_clock = (dated(m, t.isoformat()) for m, t in ((0.7, soon), (0.8, far)))
    assert (is_future(clock_ahead), is_future(wrong_clock)) == (False, True)
    results = written(Results(tmp_path), wrong_clock, dated(0.5, EARLIER))
    assert [r.measured for r in results.read("tiny", "p")] == [0.8, 0.5]
    [line] = results.doubtful()
    assert (line.line, line.reason.partition(",")[2]) == (
        1,
        " which is in the future: every other record of its cell is preferred",
    )


def test_what_is_measured_as_a_record_of_a_time_to_come_says_is_recorded_once(tmp_path):
    results = written(Results(tmp_path), dated(0.5, "2999-01-01T00:00:00+00:00"))
    assert len(results.append([dated(0.5, EARLIER)])) == 1
    assert results.append([dated(0.5, LATER)]) == []


def test_a_record_that_a_newer_one_contradicts_is_doubtful_wherever_it_stands(tmp_path):
    other = dated(0.1, EARLIER, seed=2)
    results = written(Results(tmp_path), dated(0.6, LATER), dated(0.5, EARLIER), dated(0.6, EARLIER), other)
    [line] = results.doubtful()
    assert line.line == 2
    assert line.reason == (
        "0.5 for p/1/r/c, but under the same fingerprint 0.6 was measured later "
        "(2026-01-01T01:30:00+01:00) and counts"
    )


def test_what_two_branches_recorded_is_merged_by_git_and_the_newest_counts(tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    shutil.copy(CHECKOUT / ".gitattributes", tmp_path)
    results = written(Results(tmp_path / "results"), ONE)
    git("init", "-qb", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "branch")
    written(results, ONE, dated(0.6, LATER))
    git("commit", "-qam", "later")
    git("checkout", "-q", "main")
    written(results, ONE, dated(0.55, EARLIER), dated(0.1, EARLIER, seed=2))
    git("commit", "-qam", "earlier")
    git("merge", "-q", "branch")
    assert {(r.seed, r.measured) for r in results.read("tiny", "p")} >= {(2, 0.1), (None, 0.55)}
    assert results.read("tiny", "p")[-1].measured == 0.6 and len(results.doubtful()) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"measured": 38.7}, "38.7 is impossible for p/1/r/c: values in fraction are between 0 and 1"),
        ({"measured": 100.1, "unit": "percent"}, "values in percent are between 0 and 100"),
        ({"measured": 1e308}, "values in fraction are between 0 and 1"),
        ({"measured": -0.1}, "-0.1 is impossible for p/1/r/c: values in fraction are between 0 and 1"),
        ({"measured": -2.0, "unit": "GB"}, "values in GB are not below 0"),
        ({"deviation": 1.5}, "1.5 cannot be the deviation of p/1/r/c in fraction"),
        ({"missing": 11}, "11 of 10 queries cannot be missing from p/1/r/c"),
        ({"recorded": "soon"}, "'soon' is not a valid time for a record of p/1/r/c"),
    ],
)
def test_what_cannot_have_been_measured_is_refused_when_made_and_when_read_with_its_line(
    tmp_path, changes, reason
):
    with pytest.raises(DataError, match=re.escape(reason)):
        replace(ONE, **changes)
    results = written(Results(tmp_path), ONE)
    with results.path("tiny", "p").open("a") as file:
        file.write(_sealed(_content(ONE) | changes))
    with pytest.raises(DataError, match=rf"p\.jsonl:2: .*{re.escape(reason)}"):
        results.read("tiny", "p")


def test_a_size_in_gigabytes_has_no_largest_value_and_a_mean_of_ones_may_be_rounded_up():
    assert replace(ONE, measured=1310.0, unit="GB").measured == 1310.0
    assert replace(ONE, measured=1.0000000000000002).measured > 1
