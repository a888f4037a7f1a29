import gzip
import json

import pytest

from repro.errors import BlockedError, DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets import libraries, reading
from repro.retrieval.datasets.fetching import offer
from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.sources import locate
from tests.retrieval.datasets.folders import beir_folder, without_counts, write


@pytest.fixture
def library(monkeypatch):
    """Libraries that give three documents, and queries and judgements of two splits."""
    documents = [Document(f"d{n}", "T", f"text\n{n}", "https://x.example" if n else "") for n in range(3)]
    queries = [Query("0", "who\tdid\nit", ("Ann", "O'Neil")), Query("1", "what", ("x",))]
    judgements = [Judgement("1", "d1", 1), Judgement("1", "d1", 1), Judgement("0", "d2", 2)]
    monkeypatch.setattr(libraries, "documents", lambda id: iter(documents))
    monkeypatch.setattr(libraries, "queries", lambda id: iter(queries))
    monkeypatch.setattr(libraries, "judgements", lambda id: iter(judgements))
    return documents


def test_an_offer_says_what_comes_before_anything_is_loaded():
    found = offer("msmarco-passage")
    licence = "MS MARCO terms, non-commercial research"
    assert found.description == f"MS MARCO passages: 1.06 GB to download; {licence}"
    assert (found.size, found.licence) == (1057717952, licence)
    assert offer("beir/nfcorpus/test").size == offer("beir/nfcorpus").size
    assert offer("beir/cqadupstack").size == 5343728040  # one archive, not twelve


NOT_GIVEN_OUT = ["bookcorpus", "cranfield", "wikipedia-bookcorpus", "dpr-w100/natural-questions/test"]


@pytest.mark.parametrize("id", NOT_GIVEN_OUT)
def test_what_nobody_gives_out_is_blocked_with_what_to_do(id):
    with pytest.raises(BlockedError) as caught:
        offer(id)
    assert "cannot be fetched" in caught.value.cause and caught.value.remedy


def test_what_needs_no_fetching_or_another_library_is_a_usage_error():
    with pytest.raises(UsageError, match="tiny/passage is embedded"):
        offer("tiny/passage")
    with pytest.raises(UsageError, match="cannot be fetched with 'beir'"):
        offer("msmarco-passage", library="beir")


def test_a_fetched_corpus_is_found_and_read(library, tmp_path, monkeypatch):
    without_counts(monkeypatch, "msmarco-document")
    (path,) = offer("msmarco-document").load(tmp_path, Progress())
    source = locate("msmarco-document", "documents", tmp_path)
    assert source.files == (path,) and list(reading.documents(source)) == library


def test_fetched_topics_are_found_and_read(library, tmp_path, monkeypatch):
    for id in ("msmarco-passage/dev/small", "dpr-w100/natural-questions/train"):
        without_counts(monkeypatch, id)
        offer(id).load(tmp_path, Progress())
        queries = reading.queries(locate(id, "queries", tmp_path))
        assert [(query.id, query.text) for query in queries] == [("0", "who did it"), ("1", "what")]
        judgements = reading.judgements(locate(id, "qrels", tmp_path))
        assert judgements == [Judgement("1", "d1", 1), Judgement("0", "d2", 2)]


def test_fetched_answers_survive(library, tmp_path, monkeypatch):
    id = "dpr-w100/natural-questions/dev"
    without_counts(monkeypatch, id)
    question = Query("0", "who", ("Ann", "O'Neil", 'the "x"'))
    monkeypatch.setattr(libraries, "queries", lambda id: iter([question]))
    monkeypatch.setattr(libraries, "judgements", lambda id: iter([Judgement("0", "d", 2)]))
    offer(id).load(tmp_path, Progress())
    assert reading.queries(locate(id, "queries", tmp_path)) == [question]


def test_questions_whose_ids_are_not_their_numbers_are_refused(library, tmp_path, monkeypatch):
    id = "dpr-w100/natural-questions/dev"
    without_counts(monkeypatch, id)
    monkeypatch.setattr(libraries, "queries", lambda id: iter([Query("7", "who", ("Ann",))]))
    with pytest.raises(DataError, match="question 0 has the id '7'"):
        offer(id).load(tmp_path, Progress())


def test_a_beir_collection_comes_whole_whichever_split_was_asked_for(library, tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/train", "beir/scifact/test")
    written = offer("beir/scifact/test").load(tmp_path, Progress())
    names = [path.relative_to(tmp_path / "beir/scifact").as_posix() for path in written]
    assert names == ["corpus.jsonl", "queries.jsonl", "qrels/train.tsv", "qrels/test.tsv"]
    assert [query.text for query in reading.queries(locate("beir/scifact/train", "queries", tmp_path))] == [
        "who\tdid\nit",
        "what",
    ]


def test_every_forum_is_fetched_for_their_mean(library, tmp_path, monkeypatch):
    from repro.retrieval.datasets.catalog import dataset

    members = dataset("beir/cqadupstack").members
    without_counts(monkeypatch, *members)
    offer("beir/cqadupstack").load(tmp_path, Progress())
    assert all(locate(id, "documents", tmp_path).kind == "folder" for id in members)


def test_through_beir_the_same_files_result(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/train", "beir/scifact/test")
    monkeypatch.setattr(libraries, "beir_folder", lambda id, parent: beir_folder(parent / "scifact"))
    offer("beir/scifact", library="beir").load(tmp_path / "data", Progress())
    made = beir_folder(tmp_path / "made/beir/scifact").parents[1]
    for id, piece, read in [
        ("beir/scifact", "documents", reading.documents),
        ("beir/scifact/train", "queries", reading.queries),
        ("beir/scifact/test", "qrels", reading.judgements),
    ]:
        ours, original = (list(read(locate(id, piece, root))) for root in (tmp_path / "data", made))
        assert sorted(ours) == sorted(original)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["beir"]


def test_the_packed_triples_are_copied(tmp_path, monkeypatch):
    packed = tmp_path / "home.tsv.gz"
    with gzip.open(packed, "wt") as file:
        file.write("1\t2\t3\n")
    without_counts(monkeypatch, "msmarco-passage/train/triples-v2")
    monkeypatch.setattr(libraries, "triples_file", lambda id: packed)
    offer("msmarco-passage/train/triples-v2").load(tmp_path / "data", Progress())
    source = locate("msmarco-passage/train/triples-v2", "triples", tmp_path / "data")
    assert list(reading.triples(source)) == [("1", "2", "3")]


def test_the_packed_file_of_listed_negatives_is_copied(tmp_path, monkeypatch):
    packed, id = tmp_path / "home.jsonl.gz", "msmarco-passage/train/hard-negatives"
    with gzip.open(packed, "wt") as file:
        file.write('{"qid": "1", "pos": [], "neg": {}}\n')
    monkeypatch.setattr(libraries, "linked_file", lambda id: packed)
    offer(id).load(tmp_path / "data", Progress())
    [listed] = reading.negatives(locate(id, "negatives", tmp_path / "data"))
    assert listed == ("1", [], {})


def test_another_collection_than_expected_replaces_nothing(library, tmp_path):
    path = write(tmp_path / "msmarco-passage/corpus.jsonl", json.dumps({"_id": "old", "text": "x"}))
    with pytest.raises(DataError, match="3 documents where msmarco-passage has 8,841,823"):
        offer("msmarco-passage").load(tmp_path, Progress())
    assert "old" in path.read_text()
