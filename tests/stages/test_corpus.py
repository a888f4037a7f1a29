import json

import pytest

from repro.errors import DataError
from repro.stages import corpus
from tests.datasets.folders import beir_folder, planned, without_counts, write


def _run(id, root, out, progress):
    out.mkdir(exist_ok=True)
    return corpus.run(planned("corpus", root, dataset=id), {}, out, progress)


def test_a_collection_becomes_an_arrow_dataset_in_its_own_order(tmp_path, progress, monkeypatch):
    from datasets import load_from_disk

    without_counts(monkeypatch, "beir/scifact")
    beir_folder(tmp_path / "beir/scifact")
    facts = _run("beir/scifact", tmp_path, tmp_path / "out", progress)
    written = load_from_disk(str(tmp_path / "out/arrow"))
    assert written.column_names == ["id", "title", "text"]
    assert written["id"][:] == ["d0", "d1", "d2"]
    assert written[1] == {"id": "d1", "title": "T1", "text": "text 1"}
    assert facts["documents"] == 3 and [path.name for path in (tmp_path / "out").iterdir()] == ["arrow"]


def test_documents_with_addresses_have_a_column_for_them(tmp_path, progress):
    from datasets import load_from_disk

    assert _run("tiny/document", None, tmp_path / "out", progress)["documents"] == 150
    written = load_from_disk(str(tmp_path / "out/arrow"))
    assert written.column_names == ["id", "title", "text", "url"] and written[0]["url"].startswith("https://")


def test_the_digest_is_that_of_the_data_wherever_it_lies(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact")
    for place in "ab":
        beir_folder(tmp_path / place / "beir/scifact")
    facts = [_run("beir/scifact", tmp_path / place, tmp_path / f"out-{place}", progress) for place in "ab"]
    assert facts[0] == facts[1]
    path = tmp_path / "a/beir/scifact/corpus.jsonl"
    path.write_text(path.read_text().replace("text 1", "text I"))
    assert _run("beir/scifact", tmp_path / "a", tmp_path / "out-c", progress) != facts[0]


def test_parts_become_one_collection(tmp_path, progress):
    from datasets import load_from_disk

    assert _run("tiny/text-books", None, tmp_path / "out", progress)["documents"] == 1240
    assert load_from_disk(str(tmp_path / "out/arrow"))[1200]["id"] == "2:1"


def test_a_second_attempt_replaces_what_an_interrupted_one_left(tmp_path, progress):
    from datasets import load_from_disk

    write(tmp_path / "out/arrow/state.json", "{")
    write(tmp_path / "out/arrow.rows/rows.arrow", "half")
    facts = _run("tiny/passage", None, tmp_path / "out", progress)
    assert len(load_from_disk(str(tmp_path / "out/arrow"))) == facts["documents"] > 0


def test_a_malformed_line_stops_the_stage_with_its_place(tmp_path, progress):
    beir_folder(tmp_path / "beir/scifact")
    path = tmp_path / "beir/scifact/corpus.jsonl"
    path.write_text(path.read_text() + json.dumps({"_id": "d1", "text": "again"}) + "\n")
    with pytest.raises(DataError, match=r"corpus\.jsonl:4: the _id 'd1' was on a line before"):
        _run("beir/scifact", tmp_path, tmp_path / "out", progress)


def test_another_collection_of_that_name_is_refused(tmp_path, progress):
    beir_folder(tmp_path / "beir/scifact")
    with pytest.raises(DataError, match="3 documents where beir/scifact has 5,183"):
        _run("beir/scifact", tmp_path, tmp_path / "out", progress)
    assert not (tmp_path / "out/arrow").exists()


def test_a_real_collection_is_written_in_full(real_data, tmp_path, progress):
    from datasets import load_from_disk

    assert _run("cranfield", real_data, tmp_path / "out", progress)["documents"] == 1400
    assert load_from_disk(str(tmp_path / "out/arrow"))[0]["id"] == "1"


def test_a_text_is_made_of_the_fields_asked_for_and_an_empty_title_is_replaced(
    tmp_path, progress, monkeypatch
):
    from datasets import load_from_disk

    without_counts(monkeypatch, "tiny/document")
    params = planned("corpus", dataset="tiny/document")
    for name, more in (("plain", {}), ("joined", {"text": "{url}[SEP]{text}", "untitled": "-"})):
        (tmp_path / name).mkdir()
        corpus.run(params | more, {}, tmp_path / name, progress)
    plain, joined = (load_from_disk(str(tmp_path / name / "arrow")) for name in ("plain", "joined"))
    for before, after in zip(plain, joined, strict=True):
        assert after["text"] == f"{before['url']}[SEP]{before['text']}"
        assert after["title"] == (before["title"] or "-")
