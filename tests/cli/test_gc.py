"""``repro store gc`` removes only with --yes."""

import errno
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from repro.graph import Node
from repro.manifest.cells import select
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store import Store
from repro.store.results import line_of, record_of
from repro.store.underway import announce

STAGES = {"bm25", "corpus", "evaluate", "lucene_index", "qrels", "queries"}
TINY = "costa --scale tiny --keep-days 0"


def _stages(folder):
    return {p.parent.name for p in (folder / "store").glob("*/*") if len(p.name) == 64}


@pytest.fixture
def stray(measured):
    [corpus] = (measured / "store/corpus").iterdir()
    stray = corpus.with_name("0" * 64)
    shutil.copytree(corpus, stray)
    return stray


def test_what_the_manifests_need_stays(repro, measured):
    said = repro(f"store gc {TINY} --yes")
    assert said.status == 0
    assert _stages(measured) == STAGES
    assert repro("run costa/1/sparse.bm25/dev.rr10 --scale tiny").err.count("Ran 0 of ") == 1


def test_without_yes_what_could_go_is_told_with_its_bytes_and_stays(repro, measured, stray):
    bytes_there = sum(p.stat().st_size for p in stray.rglob("*") if p.is_file())
    said = repro(f"store gc {TINY}")
    assert said.status == 0
    assert f"artefact: corpus/{'0' * 12}, {bytes_there:,} bytes\n" in said.out
    assert said.out.endswith("add --yes to remove them\n")
    assert stray.exists()
    said = repro(f"store gc {TINY} --yes")
    assert not stray.exists() and _stages(measured) == STAGES
    assert f"removed, {bytes_there:,} bytes" in said.out


def test_what_a_process_is_to_read_that_began_since_it_was_listed_stays(repro, measured, stray):
    reads = SimpleNamespace(stage="evaluate", fingerprint="1" * 64, parents=lambda: [read])
    read = SimpleNamespace(fingerprint=stray.name)
    with announce(measured / "store", [reads]):
        said = repro(f"store gc {TINY} --yes")
    assert said.status == 0 and stray.exists()
    assert repro(f"store gc {TINY} --yes").status == 0 and not stray.exists()


def test_what_is_young_stays(repro, measured, stray):
    assert repro("store gc costa --scale tiny --yes").out == "0 removed, 0 bytes\n"
    assert stray.exists()


def test_a_broken_record_and_a_scale_without_its_file_are_told(repro, folders, stray):
    records = folders / "results/records"
    (records / "myscale").mkdir(parents=True)
    said = repro("store gc costa --keep-days 0")
    assert "scale myscale: only artefacts of records are kept" in said.err
    for scale_ in ("tiny", "myscale"):
        broken = records / scale_ / "costa.jsonl"
        broken.parent.mkdir(exist_ok=True)
        broken.write_text("{}\n")
        said = repro("store gc costa --keep-days 0")
        assert said.status == 2 and not said.out and f"{broken}:1" in said.err
        broken.unlink()


def test_at_another_scale_nothing_of_this_one_is_needed_but_what_records_name_at_that(repro, measured):
    said = repro("store gc costa --scale full --keep-days 0 --yes")
    assert said.status == 0 and _stages(measured) == set()


def test_what_lies_behind_a_record_with_another_reading_is_needed(repro, measured):
    cell = "costa/1/sparse.bm25/dev.rr10"
    how = (cell, "--scale", "tiny", "--reading", "bm25-parameters=anserini-default")
    assert repro("run", *how).status == 0
    before = sorted(p.name for p in (measured / "store/bm25").iterdir())
    assert len(before) == 2
    assert repro(f"store gc {TINY} --yes").status == 0
    assert sorted(p.name for p in (measured / "store/bm25").iterdir()) == before
    records = measured / "results/records/tiny/costa.jsonl"
    kept = [line for line in records.read_text().splitlines() if not json.loads(line)["readings"]]
    records.write_text("\n".join(kept) + "\n")
    assert repro(f"store gc {TINY} --yes").status == 0
    assert len(list((measured / "store/bm25").iterdir())) == 1


def test_what_lies_behind_records_of_a_users_scale_stays_without_its_file(
    repro, measured, stray, monkeypatch
):
    records = measured / "results/records"
    (records / "fewer-steps").mkdir()
    for line in (records / "tiny/costa.jsonl").read_text().splitlines():
        record = record_of(line.encode())
        with (records / "fewer-steps/costa.jsonl").open("ab") as file:
            file.write(line_of(replace(record, scale="fewer-steps")))
    (records / "tiny/costa.jsonl").unlink()
    suites = {"full": scale("full")}
    monkeypatch.setattr("repro.running.scale.scales", lambda: suites)
    said = repro("store gc costa --keep-days 0 --yes")
    assert said.status == 0 and not stray.exists() and _stages(measured) == STAGES
    assert "scale fewer-steps: only artefacts of records are kept" in said.err
    assert "--scale" in said.err
    assert repro("store gc costa --scale full --keep-days 0 --yes").status == 0
    assert _stages(measured) == set()


def test_a_store_that_is_not_there_has_nothing_to_go(repro, folders):
    assert repro(f"store gc {TINY}").out == "0 unused, 0 bytes\n"
    assert not (folders / "store").exists()


def test_looking_at_a_read_only_store_is_allowed_and_removing_is_a_sentence(repro, measured, stray, refuse):
    refuse(measured, errno.EROFS)
    assert "artefact: corpus/000000000000" in repro(f"store gc {TINY}").out
    said = repro(f"store gc {TINY} --yes")
    assert said.status == 2
    assert "its file system is read-only; name another with --store" in said.err


def test_what_lies_behind_a_record_stays_whatever_the_plan_would_ask_for_now(repro, measured, monkeypatch):
    def otherwise(self, node):
        return Node(node.stage, {**node.params, "identity": "unknown"}, node.inputs)

    monkeypatch.setattr(Machine, "_source", lambda self, node: (otherwise(self, node), None))
    assert repro(f"store gc {TINY} --yes").status == 0
    assert _stages(measured) == STAGES
    shutil.rmtree(measured / "results")
    shutil.rmtree(measured / "store/nodes")
    assert repro(f"store gc {TINY} --yes").status == 0
    assert _stages(measured) == set()


def test_what_was_made_of_data_that_are_not_at_hand_now_stays(repro, folders):
    store, (absent, unknown) = Store(folders / "store"), _two_collections()
    ends = [Node("lucene_index", {"multifield": False}, {"corpus": n}) for n in (absent, unknown)]
    for node in (absent, unknown, *ends):
        store.build(node, lambda out: None)
    said = repro("store gc costa --scale full --yes --keep-days 0")
    assert "2 artefacts stay because their sources are absent\n" in said.err
    assert [store.state(n) for n in (absent, ends[0])] == ["stored"] * 2
    assert [store.state(n) for n in (unknown, ends[1])] == ["missing"] * 2


@pytest.mark.parametrize("suffix", [".partial", ".partial.gone"])
def test_an_interrupted_attempt_beside_data_that_are_not_at_hand_goes_by_its_age(repro, folders, suffix):
    folder = folders / "store" / "encode" / ("a" * 64 + suffix)
    folder.mkdir(parents=True)
    assert repro("store gc costa --scale full").out == "0 unused, 0 bytes\n"
    said = repro("store gc costa --scale full --keep-days 0 --yes")
    assert (said.status, said.out) == (
        0,
        f"partial: encode/{'a' * 12}{suffix}, 0 bytes\n1 removed, 0 bytes\n",
    )
    assert not folder.exists()


def _two_collections():
    """One that a manifest names, known by its bytes as it is with the data at hand; one that none names."""
    cells = select(("costa",), tables=("1",), rows=("bm25",), cells=())
    nodes = plan(cells, scale=scale("full"), machine=Machine()).nodes
    named = next(n for n in nodes if n.stage == "corpus")
    return [Node("corpus", {**named.params, "identity": "bytes", **more}) for more in ({}, {"dataset": "x"})]


def test_an_index_that_a_run_let_go_of_leaves_the_cell_as_it_was_measured(repro, measured):
    line = "costa/1/sparse.bm25/dev.rr10 --scale tiny"
    before = _judged(repro, line)
    said = repro(f"run {line} --discard indexes --format json")
    assert said.status == 0 and "discarded: lucene_index on tiny/passage" in said.err
    assert not list((measured / "store/lucene_index").iterdir())
    assert {(n["needed"], n["state"]) for n in repro(f"plan {line} --format json").json} == {
        (False, "stored"),
        (False, "missing"),
    }
    assert repro(f"run {line}").err.count("Ran 0 of ") == 1
    assert _judged(repro, line) == before
    assert repro("store verify").out.startswith("5 artefacts read, 0 damaged\n")
    for words in ("audit costa", f"plan {line}", f"store gc {TINY}"):
        said = repro(words)
        assert said.status == 0 and "damaged" not in said.out + said.err, said


def _judged(repro, line: str) -> list[dict]:
    cells = repro(f"compare {line} --format json").json
    return [{k: v for k, v in c.items() if k not in ("other_code", "unknown_code")} for c in cells]
