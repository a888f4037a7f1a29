import json

import pytest
from datasets import load_from_disk

from repro.errors import DataError
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.digests import ContentDigest
from repro.retrieval.datasets.record_files import documents
from repro.retrieval.datasets.sources import Source
from repro.retrieval.stages import corpus
from tests.bounded_memory import peak_growth
from tests.retrieval.datasets.folders import beir_folder, planned, without_counts, write
from tests.retrieval.datasets.rows_at_once import check_rows
from tests.retrieval.stages.killed_between_blocks import check_killed_between_blocks


def _run(id, root, out, progress):
    out.mkdir(exist_ok=True)
    return corpus.run(planned("corpus", root, dataset=id), {}, out, progress)


def test_a_collection_becomes_an_arrow_dataset_in_its_own_order(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact")
    beir_folder(tmp_path / "beir/scifact")
    facts = _run("beir/scifact", tmp_path, tmp_path / "out", progress)
    written = load_from_disk(str(tmp_path / "out/arrow"))
    assert written.column_names == ["id", "title", "text"]
    assert written["id"][:] == ["d0", "d1", "d2"]
    assert written[1] == {"id": "d1", "title": "T1", "text": "text 1"}
    assert facts["documents"] == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["arrow", "blocks"]


def test_documents_with_addresses_have_a_column_for_them(tmp_path, progress):
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
    assert _run("tiny/text-books", None, tmp_path / "out", progress)["documents"] == 1240
    assert load_from_disk(str(tmp_path / "out/arrow"))[1200]["id"] == "2:1"


def test_a_malformed_line_stops_the_stage_with_its_place(tmp_path, progress):
    beir_folder(tmp_path / "beir/scifact")
    path = tmp_path / "beir/scifact/corpus.jsonl"
    path.write_text(path.read_text() + json.dumps({"_id": "d1", "text": "again"}) + "\n")
    with pytest.raises(DataError, match=r"corpus\.jsonl:4: the _id 'd1' repeats an earlier one"):
        _run("beir/scifact", tmp_path, tmp_path / "out", progress)


FORM = {"text": "{url}[SEP]{text}", "untitled": "-"}


def test_texts_have_the_form_asked_for_and_facts_the_content_of_the_source_but_for_first_rows(
    tmp_path, progress
):
    params = planned("corpus", dataset="tiny/document")
    facts = {}
    for name, more in (("plain", {}), ("formed", FORM), ("first", {"first": 20})):
        (tmp_path / name).mkdir()
        facts[name] = corpus.run(params | more, {}, tmp_path / name, progress)
    plain, formed = (load_from_disk(str(tmp_path / name / "arrow")) for name in ("plain", "formed"))
    for before, after in zip(plain, formed, strict=True):
        assert after["text"] == f"{before['url']}[SEP]{before['text']}"
        assert after["title"] == (before["title"] or "-")
    content = ContentDigest()
    for row in reading.rows(Source.from_json(params["source"])):
        content.add(row)
    assert facts["plain"]["rows"] == facts["formed"]["rows"] == content.hexdigest()
    assert facts["plain"]["digest"] != facts["formed"]["digest"] and "rows" not in facts["first"]


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A folder with 5,200 passages, which are read in blocks of 2,000."""
    without_counts(monkeypatch, "beir/scifact")
    monkeypatch.setattr(corpus, "BLOCK", 2000)
    lines = (json.dumps({"_id": f"d{n}", "title": f"T{n % 3}", "text": "é" * (n % 20)}) for n in range(5200))
    write(tmp_path / "data/beir/scifact/corpus.jsonl", "\n\n".join(lines) + "\n")
    return tmp_path / "data"


def test_blocks_have_the_rows_of_the_source(many, tmp_path, progress):
    _run("beir/scifact", many, tmp_path / "out", progress)
    rows = ({"id": d.id, "title": d.title, "text": d.text} for d in documents(_file(many)))
    columns = dict.fromkeys(("id", "title", "text"), "string")
    assert check_rows(tmp_path / "out/arrow", rows, columns) == 3


def _file(folder):
    return folder / "beir/scifact/corpus.jsonl"


@pytest.mark.parametrize("places", [(1, 1), (0, 2), (2,)])
@pytest.mark.parametrize("form", [{}, FORM])
def test_killed_between_blocks_it_goes_on_to_the_same_bytes(many, tmp_path, places, form):
    params = planned("corpus", many, dataset="beir/scifact") | form
    check_killed_between_blocks(corpus, params, {}, tmp_path, places=places)


def test_collections_of_parts_go_on_too_and_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "BLOCK", 1000)
    params = planned("corpus", dataset="tiny/text-books")
    for name, more in (("all", {}), ("first", {"first": 1100})):
        (tmp_path / name).mkdir()
        check_killed_between_blocks(corpus, params | more, {}, tmp_path / name, places=(1,))


def test_what_was_written_is_not_parsed_again(many, tmp_path, progress, monkeypatch):
    seen, read = [], reading.documents

    def watched(source, **how):
        for document in read(source, **how):
            if document.id == "d4000" and "again" not in seen:
                raise KeyboardInterrupt
            seen.append(document.id)
            yield document

    monkeypatch.setattr(reading, "documents", watched)
    with pytest.raises(KeyboardInterrupt):
        _run("beir/scifact", many, tmp_path / "out", progress)
    seen[:] = ["again"]
    assert _run("beir/scifact", many, tmp_path / "out", progress)["documents"] == 5200
    assert seen == ["again", *(f"d{n}" for n in range(4000, 5200))]


def test_a_file_that_changed_between_two_attempts_is_read_anew(many, tmp_path, progress):
    facts = _run("beir/scifact", many, tmp_path / "out", progress)
    file = _file(many)
    write(file, file.read_text().replace("T1", "T9"))
    assert _run("beir/scifact", many, tmp_path / "out", progress) != facts


def test_memory_holds_a_batch_and_8_bytes_an_id(tmp_path, progress, monkeypatch):
    without_counts(monkeypatch, "beir/scifact")
    text = "x" * 1000
    lines = (f'{{"_id": "{n:09}", "text": "{text}"}}\n' for n in range(45_000))
    write(tmp_path / "beir/scifact/corpus.jsonl", "".join(lines))
    params = planned("corpus", tmp_path, dataset="beir/scifact")
    small = beir_folder(tmp_path / "small/beir/scifact")
    _run("beir/scifact", small.parents[1], tmp_path / "first", progress)
    (tmp_path / "out").mkdir()
    grown = peak_growth(lambda: corpus.run(params, {}, tmp_path / "out", progress))
    assert grown < 35_000_000  # the text has 45 MB, ids in a set 5 MB
