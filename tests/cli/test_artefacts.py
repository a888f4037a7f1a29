"""``repro export artefacts`` and ``repro import artefacts``: what one made, another verifies without making it."""

import contextlib
import json
import shutil

import pytest

from repro.errors import DataError
from repro.exchange import artefacts
from repro.graph import Node
from repro.retrieval.datasets.digests import ContentDigest, RowDigest
from repro.running.requirements import Machine
from repro.store import RECORD, Store
from repro.store.seal import seal
from tests.cli.conftest import CELL

SELECTION = (CELL, "--scale", "tiny")


def test_what_one_exported_another_imports_and_compares_without_running(repro, measured):
    there = measured / "there"
    said = repro("export", "artefacts", *SELECTION, "--inputs", "--to", there)
    assert (said.status, said.out) == (0, "6 artefacts: 6 sent, 0 already there, 0 absent\n")
    shutil.rmtree(measured / "store")
    said = repro("import", "artefacts", *SELECTION, "--from", there)
    assert (said.status, said.out) == (0, "1 artefacts: 1 fetched, 0 already there, 0 absent\n")
    assert "0 run now" in repro("run", *SELECTION).err
    said = repro("import", "artefacts", *SELECTION, "--inputs", "--from", there)
    assert said.out == "6 artefacts: 5 fetched, 1 already there, 0 absent\n"
    assert repro("store", "verify").out == "6 artefacts read, 0 damaged\n1 records read, 0 damaged\n"


def test_scores_that_were_imported_can_be_computed_again_from_the_run(repro, measured):
    there = measured / "there"
    repro("export", "artefacts", *SELECTION, "--inputs", "--to", there)
    [scores] = (measured / "store/evaluate").glob("*/scores.json")
    before = scores.read_bytes()
    shutil.rmtree(measured / "store")
    repro("import", "artefacts", *SELECTION, "--inputs", "--from", there)
    shutil.rmtree(measured / "store/evaluate")
    assert "1 run now" in repro("run", *SELECTION).err
    assert scores.read_bytes() == before


def test_a_place_that_has_nothing_is_told_by_the_exit_status_and_so_is_data_that_is_missing(repro, folders):
    (folders / "nothing").mkdir()
    for selection in (SELECTION, (CELL,)):
        said = repro("import", "artefacts", *selection, "--from", folders / "nothing")
        assert (said.status, said.out) == (4, "1 artefacts: 0 fetched, 0 already there, 1 absent\n")
    first, *sources = said.err.splitlines()
    assert first.startswith("fingerprints follow from data") and sources
    assert all("repro data fetch" in line for line in sources)


def test_an_empty_address_is_refused_before_anything_is_written(repro, measured, monkeypatch):
    (measured / "cwd").mkdir()
    monkeypatch.chdir(measured / "cwd")
    for address in ("", " "):
        said = repro("export", "artefacts", *SELECTION, "--to", address)
        assert said.sentence == "the address of the other store is empty; give a folder or URL"
    assert list((measured / "cwd").iterdir()) == []


def test_a_place_that_is_a_file_is_named_with_what_to_do(repro, measured):
    (measured / "file").write_text("")
    said = repro("export", "artefacts", *SELECTION, "--to", measured / "file")
    assert (said.status, said.out) == (2, "") and "--store" not in said.err
    assert f"the place {measured}/file cannot be used: that path is a file; name another\n" in said.err


def test_a_store_edited_on_the_way_is_refused(repro, measured):
    there = measured / "there"
    repro("export", "artefacts", *SELECTION, "--to", there)
    [scores] = (there / "evaluate").glob("*/scores.json")
    scores.write_text(scores.read_text().replace("0.", "1."))
    shutil.rmtree(measured / "store")
    said = repro("import", "artefacts", *SELECTION, "--from", there)
    assert said.status == 2
    assert "is refused: scores.json is not what its record says; it was not stored" in said.sentence
    assert not list((measured / "store").glob("evaluate/*/scores.json"))


def test_an_address_is_asked_for(repro):
    assert "Missing option '--to'" in repro("export", "artefacts", *SELECTION).sentence
    assert "Missing option '--from'" in repro("import", "artefacts", *SELECTION).sentence
    assert (
        "cannot be opened: Protocol not known: nowhere"
        in repro("import", "artefacts", *SELECTION, "--from", "nowhere://x").sentence
    )


def test_one_artefact_is_sent_and_fetched_by_its_first_digits(repro, measured):
    there = measured / "there"
    [made] = (measured / "store/evaluate").iterdir()
    said = repro("export", "artefacts", *SELECTION, "--only", made.name[:12], "--to", there)
    assert (said.status, said.out) == (0, "1 artefacts: 1 sent, 0 already there, 0 absent\n")
    shutil.rmtree(measured / "store")
    said = repro("import", "artefacts", *SELECTION, "--only", made.name, "--from", there)
    assert said.out == "1 artefacts: 1 fetched, 0 already there, 0 absent\n"
    assert {path.name for path in (measured / "store/evaluate").iterdir()} == {
        made.name,
        f"{made.name}.unchecked",
    }


def test_digits_that_name_no_single_artefact_are_refused(repro, measured):
    said = repro("export", "artefacts", *SELECTION, "--only", "zz", "--to", measured / "there")
    assert said.sentence == "the selection has no artefact whose fingerprint begins with 'zz'"
    said = repro("import", "artefacts", *SELECTION, "--only", "", "--from", measured / "there")
    assert said.sentence == "the selection has no artefact whose fingerprint begins with ''"


def poison(store, *, digests):
    """Make the first document of each query relevant, with new checksums and, where asked for, digests."""
    [folder] = (store / "qrels").iterdir()
    rows = [line.split() for line in (folder / "qrels.trec").read_text().splitlines()]
    rows = [(query, rows[0][2], 1) for query, *_ in rows]
    (folder / "qrels.trec").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
    record = json.loads((folder / RECORD).read_text())
    facts = record["facts"]
    if digests:
        digest, content = RowDigest(), ContentDigest()
        for row in rows:
            digest.add(row)
            content.add(row)
        facts |= {"digest": digest.hexdigest(), "rows": content.hexdigest()}
    seal(folder, Store(store).remembered(record["fingerprint"]), facts)


@pytest.mark.parametrize(
    ("digests", "reason"),
    [
        (False, "its rows are not those of which its record has the digest"),
        (True, "its rows are not those that the embedded collection gives here"),
    ],
)
def test_poisoned_judgements_with_right_checksums_are_refused(repro, measured, digests, reason):
    (measured / "store").rename(measured / "peer")
    poison(measured / "peer", digests=digests)
    said = repro("import", "artefacts", *SELECTION, "--inputs", "--from", measured / "peer")
    assert said.status == 2 and f"is refused: {reason}; it was not stored" in said.sentence
    assert not list((measured / "store").glob("qrels/*"))


def test_poisoned_judgements_in_the_store_are_found_by_reading_their_source_again(repro, measured):
    assert "0 not; left out: 1 lucene_index" in repro("store", "verify", "--deep").out
    for stage in ("bm25", "evaluate"):  # which would be made again each time
        shutil.rmtree(measured / "store" / stage)
    for digests in (False, True):
        poison(measured / "store", digests=digests)
        said = repro("store", "verify", "--deep")
        assert said.status == 1 and "DIFFERS: qrels/" in said.out and "its rows are not those" in said.out


def test_what_was_imported_is_named_beside_its_numbers_until_it_is_made_again(repro, measured):
    (measured / "store").rename(measured / "peer")
    shutil.rmtree(measured / "results")
    repro("import", "artefacts", *SELECTION, "--from", measured / "peer")
    assert records(repro, measured)["unchecked"] == ["scores"]
    repro("import", "artefacts", *SELECTION, "--inputs", "--from", measured / "peer")
    store = measured / "store"
    marked = {path.parent.name for path in store.glob("*/*.unchecked")}
    assert marked == {"evaluate", "bm25", "lucene_index"}
    repro("store", "verify", "--deep")
    assert {path.parent.name for path in store.glob("*/*.unchecked")} == {"lucene_index"}
    shutil.rmtree(measured / "results")
    assert records(repro, measured)["unchecked"] == ["lucene index"]


def records(repro, folder):
    assert repro("run", *SELECTION).status == 0
    [path] = (folder / "results").rglob("costa.jsonl")
    return json.loads(path.read_text().splitlines()[-1])


def test_what_is_made_here_in_its_place_is_marked_no_more(repro, measured):
    (measured / "store").rename(measured / "peer")
    repro("import", "artefacts", *SELECTION, "--inputs", "--from", measured / "peer")
    shutil.rmtree(next(path for path in (measured / "store/evaluate").iterdir() if path.is_dir()))
    repro("run", *SELECTION)
    assert not list((measured / "store/evaluate").glob("*.unchecked"))


def test_marks_go_along_to_a_folder_that_one_exports_to(repro, measured):
    (measured / "store").rename(measured / "peer")
    repro("import", "artefacts", *SELECTION, "--from", measured / "peer")
    repro("export", "artefacts", *SELECTION, "--to", measured / "there")
    assert len(list((measured / "there").glob("evaluate/*.unchecked"))) == 1
    repro("export", "artefacts", *SELECTION, "--store", measured / "peer", "--to", measured / "other")
    assert list((measured / "other").glob("*/*.unchecked")) == []


def test_judgements_of_a_collection_that_is_not_here_are_no_more_than_what_their_record_says(tmp_path):
    """No stage reads one that is to be downloaded, so that a peer who has it made it up."""
    node = Machine().resolve(Node("qrels", {"dataset": "beir/scifact/test"}))
    (tmp_path / "made").mkdir()
    (tmp_path / "made/qrels.trec").write_text("1 0 d1 1\n")
    digest = RowDigest()
    digest.add(("1", "d1", 1))
    for facts, outcome in (({}, DataError), ({"digest": digest.hexdigest()}, None)):
        for bare in (node, Node("qrels", {"dataset": "beir/scifact/test"})):
            with pytest.raises(outcome) if outcome else contextlib.nullcontext():
                assert artefacts._is_made_again(bare, tmp_path / "made", facts) is False
