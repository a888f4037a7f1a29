"""``repro store verify``. test_bad_store.py has the damaged artefacts."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from repro.running import provenance
from repro.store.underway import announce
from tests.cli.conftest import CELL
from tests.vector_store import forge, vector_store


def test_a_sound_store_is_read_in_full(repro, measured):
    assert repro("store verify").out == "6 artefacts read, 0 damaged\n1 records read, 0 damaged\n"


def test_every_damaged_artefact_is_told_and_only_they_are_removed(repro, measured):
    for stage, file in (("qrels", "qrels.trec"), ("queries", "queries.jsonl")):
        [victim] = (measured / "store" / stage).iterdir()
        (victim / file).unlink()
    said = repro("store verify")
    assert said.status == 2
    assert [line.split("/")[0] for line in said.out.splitlines()[:2]] == [
        "damaged: qrels",
        "damaged: queries",
    ]
    assert said.err.startswith("`repro store verify --rebuild` removes them")
    said = repro("store verify --rebuild")
    assert said.status == 0
    assert "6 artefacts read, 2 damaged and removed" in said.out.splitlines()
    assert repro("store verify").out.startswith("4 artefacts read, 0 damaged\n")


def test_a_damaged_artefact_is_made_again_on_request_where_the_scores_are_stored(repro, measured):
    [run] = (measured / "store/bm25").glob("*/run.trec")
    run.write_text(run.read_text() + "x")
    line = ("run", CELL, "--scale", "tiny")
    refused = repro(*line)
    assert "`repro run --rebuild damaged` builds it again" in refused.refusal
    assert "2 artefacts would be discarded: damaged" in repro(*line, "--rebuild", "damaged", "--dry-run").err
    said = repro(*line, "--rebuild", "damaged")
    assert said.status == 0 and "Ran 2 of " in said.err
    assert repro("store verify").out.startswith("6 artefacts read, 0 damaged\n")


def test_an_imported_run_stays_and_what_makes_it_again_is_said(repro, folders):
    from repro.graph import Node
    from repro.store import Store

    store, run = Store(folders / "store"), Node("imported_run", {"source": "x"})
    store.build(run, lambda out: (out / "run.trec").write_text("1 Q0 1 1 1 x") and None)
    (store.path(run) / "run.trec").write_text("")
    said = repro("store verify --rebuild")
    assert said.status == 2 and store.state(run) == "damaged"
    assert "not removed: `repro import run` with its file makes it again" in said.out
    assert said.out.endswith("1 artefacts read, 1 damaged, 0 removed\n")


@pytest.fixture
def other_code(measured, monkeypatch):
    code_here = provenance.code

    def code(*entries):
        here = code_here(*entries)
        if entries == ("repro.retrieval.stages.evaluate",):
            here = replace(
                here, digest="other", modules=here.modules | {"repro.retrieval.stages.evaluate": "other"}
            )
        return here

    monkeypatch.setattr(provenance, "code", code)
    return measured


SENTENCE = (
    "1 of 6 artefacts were made by other code or libraries "
    "(`repro run --rebuild other-code` with a selection makes them again)"
)


def test_what_other_code_made_is_counted_and_on_request_named(repro, other_code):
    counts = "6 artefacts read, 0 damaged\n1 records read, 0 damaged\n"
    assert repro("store verify").out == f"{counts}{SENTENCE}\n"
    *_, line, _ = repro("store verify --verbose").out.splitlines()
    assert line.startswith("other code: evaluate/") and line.endswith(": repro.retrieval.stages.evaluate")
    said = repro("store verify --format json").json
    assert (said["artefacts"], said["damaged"], said["unknown_code"]) == (6, {}, 0)
    assert list(said["other_code"].values()) == [["repro.retrieval.stages.evaluate"]]


def test_plan_and_compare_count_what_other_code_made(repro, other_code):
    selection = (CELL, "--scale", "tiny")
    assert SENTENCE in repro("plan", *selection).err.splitlines()
    assert SENTENCE in repro("compare", *selection).err.splitlines()
    [cell] = repro("compare", *selection, "--format", "json").json
    assert (cell["other_code"], cell["unknown_code"]) == (1, 0)


def test_what_other_code_made_is_made_again_on_request(repro, other_code):
    line = ("run", CELL, "--scale", "tiny", "--rebuild", "other-code")
    assert "1 artefacts would be discarded" in repro(*line, "--dry-run").err
    [read] = (other_code / "store/evaluate").iterdir()
    read = SimpleNamespace(fingerprint=read.name)
    reads = SimpleNamespace(stage="compare", fingerprint="1" * 64, parents=lambda: [read])
    with announce(other_code / "store", [reads]):
        said = repro(*line)
    assert said.status == 2 and "nothing is discarded: another run needs evaluate/" in said.err
    said = repro(*line)
    assert said.status == 0 and "Ran 1 of " in said.err


def test_a_sample_is_computed_again_and_compared_on_request(repro, folders):
    vector_store(folders / "store")
    said = repro("store verify --deep")
    assert said.status == 0
    *_, line = said.out.splitlines()
    assert line == (
        "3 artefacts recomputed: 3 agree to the bit, 0 to the tolerance, 0 not. Left out: 1 qrels, 2 encode."
    )
    [row] = [line.split() for line in said.out.splitlines() if line.split()[:1] == ["search"]]
    assert row == ["search", "1", "of", "1", "1", "0", "every", "bit"]


def test_a_value_that_is_wrong_under_a_valid_seal_is_named(repro, folders):
    store, nodes = vector_store(folders / "store")
    name = str(nodes["evaluate"])
    scores = (store.path(nodes["evaluate"]) / "scores.json").read_text()
    forge(store, nodes["evaluate"], "scores.json", scores.replace("0.0", "1.0"))
    assert repro("store verify").status == 0
    said = repro("store verify --deep 1 --seed 3")
    assert said.status == 1
    assert any(line.startswith(f"DIFFERS: {name}: scores.json: ") for line in said.out.splitlines())
    said = repro("store verify --deep --format json")
    assert said.status == 1
    again = {one["stage"]: one for one in said.json["recomputed"]["artefacts"]}
    assert {stage: one["agreement"] for stage, one in again.items()} == {
        "search": "bits",
        "mine": "bits",
        "evaluate": "none",
    }
    assert said.json["recomputed"]["of"] == {"search": 1, "mine": 1, "evaluate": 1}


def test_nothing_is_computed_from_what_is_damaged(repro, folders):
    store, nodes = vector_store(folders / "store")
    (store.path(nodes["qrels"]) / "qrels.trec").write_text("")
    said = repro("store verify --deep")
    assert said.status == 2 and "recomputed" not in said.out
    said = repro("store verify --deep --rebuild")
    assert said.status == 0 and "Left out: 2 encode, 1 mine, 1 evaluate" in said.out
    assert "1 artefacts recomputed: 1 agree to the bit" in said.out


@pytest.mark.parametrize("blocked, status", [(False, 3), (True, 4)])
def test_a_stage_that_cannot_compute_again_has_the_status_of_its_reason(
    repro, folders, monkeypatch, blocked, status
):
    from repro.errors import BlockedError
    from repro.retrieval.stages import evaluate

    def fails(*_):
        raise BlockedError("there is no Java", "install one") if blocked else ValueError("no luck")

    vector_store(folders / "store")
    monkeypatch.setattr(evaluate, "run", fails)
    said = repro("store verify --deep")
    reason = "there is no Java; install one" if blocked else "ValueError: no luck"
    assert said.status == status and f": {reason}" in said.out
    assert "2 agree to the bit, 0 to the tolerance, 0 not, 1 without a result." in said.out


def test_a_last_record_that_was_cut_off_counts_as_nothing_and_is_told(repro, measured):
    path = measured / "results/records/tiny/costa.jsonl"
    assert repro("store verify --format json").json["unfinished_records"] == []
    path.write_text(path.read_text()[:300])
    said = repro("store verify")
    assert said.status == 0 and f"unfinished: {path}: its last line is incomplete." in said.out
    assert repro("store verify --format json").json["unfinished_records"] == [str(path)]


def test_an_altered_record_is_told_and_is_never_shown_as_measured(repro, measured):
    path = measured / "results/records/tiny/costa.jsonl"
    path.write_text(path.read_text().replace('"measured": 0.3', '"measured": 0.9'))
    altered = f"{path}:1: altered: its sha256 does not fit its content. Restore it."
    said = repro("store verify")
    assert said.status == 2 and f"damaged: {altered}" in said.out.splitlines()
    assert "1 records read, 1 damaged" in said.out.splitlines()
    assert repro("store verify --format json").json["damaged_records"] == [altered]
    for verb in ("plan", "compare", "run"):
        said = repro(verb, CELL, "--scale", "tiny")
        assert (said.status, said.sentence) == (2, altered)


def test_a_record_that_a_newer_one_contradicts_is_told(repro, measured):
    from dataclasses import replace

    from repro.store.results import Results

    results = Results(measured / "results")
    [record] = results.read("tiny", "costa")
    results.append([replace(record, measured=0.1, recorded="2999-01-01T00:00:00+00:00")])
    said = repro("store verify")
    [doubt] = [line for line in said.out.splitlines() if line.startswith("doubtful: ")]
    words = "recorded at 2999-01-01T00:00:00+00:00, which is in the future"
    assert f"{results.path('tiny', 'costa')}:2: {words}" in doubt
    assert said.status == 0 and "2 records read, 0 damaged, 1 doubtful" in said.out.splitlines()
    assert len(repro("store verify --format json").json["doubtful_records"]) == 1
