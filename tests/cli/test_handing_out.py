"""An altered file of the store is neither shown nor exported."""

from dataclasses import replace
from pathlib import Path

import pytest

import repro as repro_package
from repro.retrieval.datasets import tiny
from repro.store import Store
from repro.store.results import Results
from tests.cli.conftest import CELL

SCALE = ("--scale", "tiny")


@pytest.fixture
def altered(measured):
    [run] = (measured / "store/bm25").glob("*/run.trec")
    lines = run.read_text().splitlines(keepends=True)
    query, zero, document, rest = lines[0].split(" ", 3)
    lines[0] = " ".join(
        [query, zero, document[::-1] if document[::-1] != document else "0" * len(document), rest]
    )
    run.write_text("".join(lines))
    return run


@pytest.mark.parametrize(
    "verb", ["export run", "compare with ours", "compare a stored one", "compare by a dataset", "import run"]
)
def test_a_run_that_was_altered_is_not_handed_out(repro, altered, tmp_path, verb):
    mine = tmp_path / "mine.trec"
    [relevant] = [row.document for row in tiny.judgements("tiny/passage", "dev") if row.query == "20000"]
    ranked = [relevant, *(row.id for row in tiny.documents("tiny/passage") if row.id != relevant)]
    lines = (f"20000 Q0 {document} {rank} {10 - rank} mine\n" for rank, document in enumerate(ranked[:10]))
    mine.write_text("".join(lines))
    words = {
        "export run": ("export", "run", CELL, *SCALE, "-o", tmp_path / "out.trec"),
        "compare with ours": ("compare", mine, CELL, *SCALE, "--format", "json"),
        "compare a stored one": ("compare", altered, CELL, *SCALE, "--format", "json"),
        "compare by a dataset": ("compare", altered, "--dataset", "tiny/passage/dev", "--measure", "RR@10"),
        "import run": ("import", "run", altered, CELL, "--source", "x"),
    }
    said = repro(*words[verb])
    assert said.status == 2, said
    refusal = said.err.splitlines()[-1]
    words = "is damaged: run.trec is altered; `repro store verify"
    assert f"artefact bm25/{altered.parent.name[:12]} {words}" in refusal
    assert said.out == "" and not (tmp_path / "out.trec").exists()


def test_an_exported_run_says_which_record_it_is_of(repro, measured):
    results = Results(measured / "results")
    [own] = [r for r in results.read("tiny", "costa") if r.cell == CELL]
    results.append([replace(own, seed=7, readings={"dev-recall": "success"}), replace(own, seed=3)])
    said = repro(f"export run {CELL}", *SCALE)
    words = f"{CELL}: the run of {own.measured:.6g} RR@10 (fraction), measured with its own seed, recorded 20"
    assert said.status == 0 and said.err.startswith(words)
    assert repro("export run", own.fingerprint, *SCALE).err == ""


def test_a_run_that_is_not_the_one_that_was_scored_is_not_handed_out(repro, measured):
    store = Store(measured / "store")
    [path] = store.root.glob("bm25/*")
    run = store.remembered(path.name)
    text = (path / "run.trec").read_text()
    store.discard(run)
    store.build(run, lambda out: (out / "run.trec").write_text(text + text[:1]) and None)
    refused = repro(f"export run {CELL}", *SCALE)
    assert refused.status == 2
    words = "was scored, and differs. Score it again: `repro run"
    assert f"{run} was made again since {CELL} {words}" in refused.sentence


def test_no_verb_reads_a_stored_file_that_was_not_compared_with_its_record():
    rooms = (
        Path(repro_package.__file__).parent / room for room in ("cli", "writers", "exchange", "verdicts")
    )
    lines = [line for room in rooms for path in room.rglob("*.py") for line in path.read_text().splitlines()]
    assert [line for line in lines if "store.path(" in line and "read_json(" not in line] == []


def test_scores_that_were_altered_are_not_recorded(repro, measured):
    [scores] = (measured / "store/evaluate").glob("*/scores.json")
    scores.write_text(scores.read_text().replace("1.0", "0.9", 1))
    said = repro(f"run {CELL}", *SCALE)
    refusal = said.err.splitlines()[-1]
    assert said.status == 2 and "scores.json" in refusal and "damaged" in refusal
