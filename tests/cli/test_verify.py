"""``repro verify``: every artefact read; test_bad_store.py has the damaged ones."""

import pytest

from tests.cli.conftest import CELL


def test_a_store_that_is_not_there_holds_nothing(repro):
    said = repro("verify")
    assert (said.status, said.out, said.err) == (0, "0 artefacts read, 0 damaged\n", "")


def test_a_sound_store_is_read_in_full(repro, measured):
    assert repro("verify").out == "6 artefacts read, 0 damaged\n"


def test_every_damaged_artefact_is_told_and_only_they_are_removed(repro, measured):
    for stage, file in (("qrels", "qrels.trec"), ("queries", "queries.jsonl")):
        [victim] = (measured / "store" / stage).iterdir()
        (victim / file).unlink()
    said = repro("verify")
    assert said.status == 2
    assert [line.split("/")[0] for line in said.out.splitlines()[:2]] == [
        "damaged: qrels",
        "damaged: queries",
    ]
    assert said.out.splitlines()[-1].startswith("run `repro verify --rebuild`")
    said = repro("verify", "--rebuild")
    assert said.status == 0
    assert said.out.splitlines()[-1] == "6 artefacts read, 2 damaged and removed"
    assert repro("verify").out == "4 artefacts read, 0 damaged\n"


def test_an_imported_run_stays_and_what_makes_it_again_is_said(repro, folders):
    from repro.graph import Node
    from repro.store import Store

    store, run = Store(folders / "store"), Node("imported_run", {"source": "x"})
    store.build(run, lambda out: (out / "run.trec").write_text("1 Q0 1 1 1 x") and None, waiting=lambda: None)
    (store.path(run) / "run.trec").write_text("")
    said = repro("verify", "--rebuild")
    assert said.status == 2 and store.state(run) == "damaged"
    assert "it stays: `repro import-run` with its file makes it again" in said.out
    assert said.out.endswith("1 artefacts read, 1 damaged, 0 removed\n")


def test_what_is_still_being_written_is_left_alone(repro, measured):
    partial = measured / "store/corpus" / ("0" * 64 + ".partial")
    partial.mkdir()
    assert repro("verify", "--rebuild").status == 0
    assert partial.exists()


@pytest.fixture
def other_code(measured, monkeypatch):
    """The store of CELL, whose evaluation was made by another version of its stage's module."""
    from repro.running import provenance

    here = provenance.digest
    monkeypatch.setattr(
        provenance, "digest", lambda name: "other" if name == "repro.stages.evaluate" else here(name)
    )
    return measured


SENTENCE = (
    "1 of 6 artefacts were made by other code or libraries; "
    "`repro run --rebuild-other-code` with a selection makes them again"
)


def test_what_other_code_made_is_counted_and_on_request_named(repro, other_code):
    assert repro("verify").out == f"6 artefacts read, 0 damaged\n{SENTENCE}\n"
    _, line, _ = repro("verify", "--verbose").out.splitlines()
    assert line.startswith("other code: evaluate/") and line.endswith(": repro.stages.evaluate")
    said = repro("verify", "--json").json
    assert (said["artefacts"], said["damaged"], said["unknown_code"]) == (6, {}, 0)
    assert list(said["other_code"].values()) == [["repro.stages.evaluate"]]


def test_status_and_compare_count_what_other_code_made(repro, other_code):
    selection = ("--cell", CELL, "--scale", "tiny")
    assert SENTENCE in repro("status", *selection).out.splitlines()
    assert SENTENCE in repro("compare", *selection).err.splitlines()
    for verb in ("status", "compare"):
        [cell] = repro(verb, *selection, "--json").json
        assert (cell["other_code"], cell["unknown_code"]) == (1, 0)


def test_what_other_code_made_is_made_again_on_request(repro, other_code):
    line = ("run", "--cell", CELL, "--scale", "tiny", "--rebuild-other-code")
    assert "1 artefacts would be discarded" in repro(*line, "--dry-run").err
    said = repro(*line)
    assert said.status == 0 and ", 1 run now;" in said.err
