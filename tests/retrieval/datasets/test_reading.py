import pytest

from repro.errors import DataError
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import Judgement, catalog
from repro.retrieval.datasets.sources import Source, locate
from tests.retrieval.datasets.folders import beir_folder, without_counts, write

READ = {"documents": reading.documents, "queries": reading.queries, "qrels": reading.judgement_rows}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/train", "beir/scifact/test")
    beir_folder(tmp_path / "beir/scifact")
    return tmp_path


def test_a_split_has_its_own_queries_and_each_judged_pair_once(folder):
    documents = reading.documents(locate("beir/scifact", "documents", folder))
    assert [document.id for document in documents] == ["d0", "d1", "d2"]
    assert [q.id for q in reading.queries(locate("beir/scifact/train", "queries", folder))] == ["2", "1"]
    assert [q.text for q in reading.queries(locate("beir/scifact/test", "queries", folder))] == ["query 3"]
    source = locate("beir/scifact/train", "qrels", folder)
    assert reading.judgements(source) == [Judgement("1", "d1", 1), Judgement("2", "d2", 1)]
    assert len(list(reading.judgement_rows(source))) == 3


@pytest.mark.parametrize("kind", ["folder", "home"])
def test_documents_that_are_known_are_passed_over_once(folder, kind):
    source = Source("beir/scifact", "documents", kind, "jsonl", (folder / "beir/scifact/corpus.jsonl",))
    assert [document.id for document in reading.documents(source, known=["d0"])] == ["d1", "d2"]


@pytest.mark.parametrize(
    ("id", "piece", "counts"),
    [
        ("beir/scifact", "documents", "3 documents, but beir/scifact has 5,183"),
        ("beir/scifact/test", "queries", "1 queries, but beir/scifact/test has 300"),
        ("beir/scifact/train", "qrels", "3 qrels, but beir/scifact/train has 919"),
    ],
)
def test_another_number_than_the_catalogues_is_refused(tmp_path, id, piece, counts):
    beir_folder(tmp_path / "beir/scifact")
    with pytest.raises(DataError, match=f"{counts} in the papers"):
        list(READ[piece](locate(id, piece, tmp_path)))


def test_trec_topics_with_answers_and_separate_qrels_are_joined(tmp_path, monkeypatch):
    id = "dpr-w100/natural-questions/train"
    without_counts(monkeypatch, id)
    write(tmp_path / "topics/topics.dpr.nq.train.txt", "who\t['Ann']\nwhen\t['1900']\n")
    write(tmp_path / "qrels/qrels.dpr.nq.train.txt", "1 0 77 2\n1 0 78 -1\n")
    (query,) = reading.queries(locate(id, "queries", tmp_path))
    assert (query.id, query.text, query.answers) == ("1", "when", ("1900",))
    assert [judgement.grade for judgement in reading.judgements(locate(id, "qrels", tmp_path))] == [2, -1]


def test_parts_follow_each_other_and_their_ids_never_clash():
    ids = [document.id for document in reading.documents(locate("tiny/text-books", "documents", None))]
    assert ids[0] == "1:1" and ids[-1] == "2:40" and len(set(ids)) == 1240


def test_an_answer_judged_set_has_no_judgements():
    assert reading.judgements(Source("tiny/wiki/test", "qrels", "absent")) == []


EMBEDDED = [id for id, entry in catalog().items() if entry.source == "embedded" and entry.pieces]


@pytest.mark.parametrize("id", EMBEDDED)
def test_every_embedded_collection_is_as_large_as_the_catalogue_says(id):
    entry = catalog()[id]
    for piece in entry.pieces:
        assert list(READ[piece](locate(id, piece, None)))


def test_every_spelling_of_the_real_answers_is_read(real_data):
    id = "dpr-w100/natural-questions/test"
    texts = {}
    for name in catalog()[id].topics:
        file = real_data / "topics" / f"topics.{name}.txt"
        texts[name] = reading.queries(Source(id, "queries", "folder", "answers", (file,)))
    tokenised, plain = texts["dpr.nq.test"], texts["nq.test"]
    assert tokenised[1].answers == ("May 18 , 2018",) and plain[1].answers == ("May 18, 2018",)
    assert tokenised[73].text.replace(" ", "") == plain[73].text.replace(" ", "")
    assert len(tokenised) == len(plain) == 3610


@pytest.mark.parametrize(
    ("file", "text", "piece", "words"),
    [
        ("corpus.jsonl", '{"_id": "d0", "title": "T", "text": " "}\n', "documents", "has a text"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n3\td0\t0\n", "qrels", "has a grade above 0: nothing"),
    ],
)
def test_a_collection_without_a_text_or_a_relevant_document_is_refused(
    tmp_path, monkeypatch, file, text, piece, words
):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/test")
    (beir_folder(tmp_path / "beir/scifact") / file).write_text(text)
    name = {"documents": "beir/scifact"}.get(piece, "beir/scifact/test")
    source = locate(name, piece, tmp_path)
    noun = {"qrels": "judgements"}.get(piece, piece)
    with pytest.raises(DataError, match=f"{file}: none of the 1 {noun} of {name} {words}"):
        list(reading.rows(source))


def test_some_empty_texts_and_queries_without_a_relevant_document_are_fine(tmp_path, monkeypatch):
    without_counts(monkeypatch, "beir/scifact", "beir/scifact/test")
    folder = beir_folder(tmp_path / "beir/scifact")
    (folder / "corpus.jsonl").write_text('{"_id": "d0", "text": ""}\n{"_id": "d1", "text": "x"}\n')
    assert len(list(reading.rows(locate("beir/scifact", "documents", tmp_path)))) == 2
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n3\td0\t0\n4\td0\t1\n")
    assert len(list(reading.rows(locate("beir/scifact/test", "qrels", tmp_path)))) == 2
