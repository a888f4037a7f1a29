"""``repro run``: its numbers compared with the record, and the place of records."""

import shutil
from dataclasses import replace

import pytest

from repro import locations
from repro.store.results import Results
from tests.cli.conftest import CELL

RUN = f"run {CELL} --scale tiny"


@pytest.fixture
def committed(measured, monkeypatch) -> Results:
    shutil.move(measured / "results", measured / "checkout/results")
    monkeypatch.setattr(locations, "CHECKOUT", measured / "checkout")
    return Results(measured / "checkout/results")


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_says_how_many_of_its_numbers_are_as_on_record(repro, committed):
    for words in (RUN, f"{RUN} --strict"):
        said = repro(words)
        assert said.status == 0 and " 1 of 1 equal the record. Scores at" in said.err
        assert "record" not in said.out
    said = repro(f"{RUN} --format json")
    assert "1 of 1 equal the record." in said.err and [c["id"] for c in said.json] == [CELL]


def test_one_that_is_not_is_named_with_the_likely_cause_and_fails_where_that_is_asked_for(repro, committed):
    [record] = committed.read("tiny", "costa")
    committed.path("tiny", "costa").unlink()
    committed.append([replace(record, measured=record.measured + 0.01, environment={})])
    said = repro(RUN)
    assert said.status == 0 and " 0 of 1 equal the record. " in said.err
    assert f"Differs from the record: {CELL} 0.38" in said.err and " on record, -0.01)." in said.err
    assert "torch" in said.err.partition("Likely cause: ")[2]
    assert repro(f"{RUN} --strict").status == 1


def test_nothing_is_said_where_nothing_is_on_record(repro, committed):
    committed.path("tiny", "costa").unlink()
    assert " the record" not in repro(RUN).err


def test_records_of_ones_own_lie_in_the_users_data_and_what_came_with_the_suite_is_only_read(
    repro, committed, measured, monkeypatch
):
    monkeypatch.delenv("REPRO_RESULTS")
    before = files(committed.root)
    assert "1 of 1 equal the record" in repro(RUN).err
    repro(f"{RUN} --seeds 2")
    repro("tables costa --table 1 --scale tiny")
    assert files(committed.root) == before
    own = measured / "user/repro-bench/results"
    assert [r.seed for r in Results(own).read("tiny", "costa")] == [2]
    assert list((own / "tables/tiny").iterdir())


def test_a_maintainer_records_into_the_checkout_by_naming_its_folder(repro, committed, measured):
    (committed.root / "records/tiny/costa.jsonl").write_text("")
    said = repro(f"{RUN} --results", committed.root)
    assert " the record" not in said.err and len(committed.read("tiny", "costa")) == 1
