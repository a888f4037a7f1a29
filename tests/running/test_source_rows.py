import json

import pytest

from repro.errors import DataError
from repro.graph import Node
from repro.progress import Progress
from repro.retrieval.datasets.arrow import write_rows
from repro.retrieval.datasets.digests import ContentDigest, RowDigest
from repro.retrieval.stages import corpus, qrels, queries
from repro.running import recomputation
from repro.running.recomputation import is_published, is_whole, rows_fault, source_at_hand
from repro.running.requirements import Machine
from tests.retrieval.datasets.folders import beir_folder, without_counts

RUN = {"corpus": corpus.run, "queries": queries.run, "qrels": qrels.run}
DATASETS = {"corpus": "tiny/document", "queries": "tiny/passage/dev", "qrels": "tiny/passage/dev"}
FORM = {"text": "{url} {text}", "untitled": "-"}
CASES = [(stage, {}) for stage in RUN] + [("corpus", FORM)]


def made(node, folder):
    folder.mkdir(parents=True)
    facts = RUN[node.stage](dict(node.params), {}, folder, Progress())
    return facts


def planned(stage, data=None, **params):
    return Machine(data).resolve(Node(stage, {"dataset": DATASETS[stage], **params}))


def poison(stage, folder):
    rows = list(recomputation._stored_rows(Node(stage, {}), folder))
    if stage == "corpus":
        rows[-1]["text"] += " poison"
        write_rows(rows, dict.fromkeys(rows[-1], "string"), folder / "arrow")
    elif stage == "queries":
        rows[-1]["text"] += " poison"
        (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        rows[-1] = (rows[-1][0], rows[0][1], 1)
        (folder / "qrels.trec").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
    return rows


def facts_of(rows, facts):
    digest, content = RowDigest(), ContentDigest()
    for row in rows:
        digest.add(row)
        content.add(row)
    return {**facts, "digest": digest.hexdigest(), "rows": content.hexdigest()}


@pytest.mark.parametrize(("stage", "form"), CASES)
def test_sound_rows_have_no_fault_with_or_without_their_source(stage, form, tmp_path):
    node = planned(stage, **form)
    facts = made(node, tmp_path / "out")
    source = source_at_hand(node, None, None)
    assert source is not None and is_whole(node)
    assert (
        rows_fault(node, tmp_path / "out", facts, source)
        == rows_fault(node, tmp_path / "out", facts, None)
        == ""
    )


@pytest.mark.parametrize(("stage", "form"), CASES)
def test_changed_rows_are_found_by_the_digest_that_was_recorded_and_then_by_the_source(stage, form, tmp_path):
    node = planned(stage, **form)
    facts, source = made(node, tmp_path / "out"), source_at_hand(node, None, None)
    rows = poison(stage, tmp_path / "out")
    words = "its rows do not match the digest in its record"
    assert rows_fault(node, tmp_path / "out", facts, None) == words
    forged = facts_of(rows, facts)
    words = "its rows differ from those of the embedded collection"
    assert rows_fault(node, tmp_path / "out", forged, source) == words


@pytest.mark.parametrize(("stage", "form"), CASES)
def test_a_digest_of_what_is_published_beside_other_rows_is_found(stage, form, tmp_path):
    node = planned(stage, **form)
    facts, source = made(node, tmp_path / "out"), source_at_hand(node, None, None)
    words = "its record has another digest of the contents of its rows"
    assert rows_fault(node, tmp_path / "out", {**facts, "rows": "0" * 64}, source) == words


@pytest.mark.parametrize("content", ["q 0 d\n", "q 0 d one\n", "\x00"])
def test_rows_that_cannot_be_read_are_a_fault(tmp_path, content):
    node = planned("qrels")
    facts = made(node, tmp_path / "out")
    (tmp_path / "out/qrels.trec").write_text(content)
    assert rows_fault(node, tmp_path / "out", facts, None).startswith("its rows cannot be read (")


def test_a_source_of_the_data_folder_is_at_hand_while_it_has_its_bytes(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact/test")
    beir_folder(tmp_path / "data/beir/scifact")
    node = planned("qrels", tmp_path / "data", dataset="beir/scifact/test")
    facts = made(node, tmp_path / "out")
    source = source_at_hand(node, tmp_path / "data", None)
    assert rows_fault(node, tmp_path / "out", facts, source) == ""
    forged = facts_of(poison("qrels", tmp_path / "out"), facts)
    assert rows_fault(node, tmp_path / "out", forged, source).endswith("qrels/test.tsv")
    file = tmp_path / "data/beir/scifact/qrels/test.tsv"
    file.write_text(file.read_text().replace("d0\t2", "d2\t2"))
    assert source_at_hand(node, tmp_path / "data", None) is None
    with pytest.raises(DataError, match="changed after planning"):
        rows_fault(node, tmp_path / "out", forged, source)


def test_first_rows_and_collections_of_no_catalogue_are_not_held_against_a_source():
    assert not is_whole(planned("queries", first=3)) and not is_whole(Node("qrels", {"dataset": "made-up"}))
    assert not is_whole(Node("encode", {})) and is_whole(planned("qrels"))


def test_what_is_published_is_known_without_the_source_but_not_in_another_form(real_data, tmp_path):
    node = planned("corpus", real_data, dataset="beir/scifact")
    facts = made(node, tmp_path / "out")
    assert is_published(node, facts) and not is_published(node, {**facts, "rows": "0" * 64})
    assert not is_published(Node("corpus", {**node.params, **FORM}), facts)


def test_collections_of_parts_and_judgements_by_answers_are_held_against_their_sources(tmp_path):
    for stage, dataset in (("corpus", "tiny/text-books"), ("qrels", "tiny/wiki/test")):
        node = Machine().resolve(Node(stage, {"dataset": dataset}))
        facts = made(node, tmp_path / stage)
        source = source_at_hand(node, None, None)
        assert source is not None and rows_fault(node, tmp_path / stage, facts, source) == ""
