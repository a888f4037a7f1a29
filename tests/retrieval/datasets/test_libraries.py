"""The libraries read collections laid out in their own folders, without a network."""

import gzip
import zipfile

import pytest

from repro.errors import BlockedError, DataError
from repro.retrieval.datasets import libraries, reading
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.sources import Source
from tests.retrieval.datasets.folders import beir_folder, write


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home for ir_datasets."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    return tmp_path


def _fresh(monkeypatch, *modules: str) -> None:
    """ir_datasets fixes its home when a dataset's module is imported: import those anew."""
    import importlib

    import ir_datasets

    for name in modules:
        module = importlib.import_module(f"ir_datasets.datasets.{name}")
        for id in [id for id in ir_datasets.registry._registered if id.split("/")[0] == module.NAME]:
            monkeypatch.delitem(ir_datasets.registry._registered, id)
        importlib.reload(module)


def test_a_beir_archive_in_ir_datasets_home_is_read(home, monkeypatch):
    folder = beir_folder(home / "made/scifact")
    archive = home / "beir/scifact/source.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as packed:
        for path in folder.rglob("*.*"):
            packed.write(path, f"scifact/{path.relative_to(folder)}")
    _fresh(monkeypatch, "beir")
    assert list(libraries.documents("beir/scifact"))[1] == Document("d1", "T1", "text 1")
    assert [query.id for query in libraries.queries("beir/scifact/train")] == ["2", "1"]
    assert [query.id for query in libraries.queries("beir/scifact")] == ["4", "3", "2", "1"]
    judgements = list(libraries.judgements("beir/scifact/test"))
    assert judgements == [Judgement("3", "d0", 2), Judgement("3", "d1", 0)]
    with pytest.raises(DataError, match="3 documents where beir/scifact has 5,183"):
        list(reading.documents(Source("beir/scifact", "documents", "library", "ir_datasets")))


def test_passages_topics_and_pairs_in_ir_datasets_home_are_read(home, monkeypatch):
    folder = home / "msmarco-passage"
    write(folder / "irds_version.txt", "v2")
    write(folder / "collection.tsv", "0\tfirst passage\n1\tsecond passage\n")
    write(folder / "dev/small/queries.tsv", "7\t what is first \n")
    write(folder / "dev/small/qrels", "7\t0\t0\t1\n")
    packed = folder / "train/qidpidtriples.train.full.2.tsv.gz"
    packed.parent.mkdir()
    with gzip.open(packed, "wt") as file:
        file.write("7\t0\t1\n")
    _fresh(monkeypatch, "msmarco_passage")
    assert list(libraries.documents("msmarco-passage")) == [
        Document("0", "", "first passage"),
        Document("1", "", "second passage"),
    ]
    assert list(libraries.queries("msmarco-passage/dev/small")) == [Query("7", "what is first")]
    assert list(libraries.judgements("msmarco-passage/dev/small")) == [Judgement("7", "0", 1)]
    assert list(libraries.triples("msmarco-passage/train/triples-v2")) == [("7", "0", "1")]
    assert libraries.triples_file("msmarco-passage/train/triples-v2") == packed


def test_documents_with_addresses_and_questions_with_answers_keep_them(monkeypatch):
    from types import SimpleNamespace as Row

    rows = Row(
        docs_iter=lambda: [Row(doc_id="D1", url="https://a.example", title="T", body="B")],
        queries_iter=lambda: [Row(query_id="0", text="who ", answers=("Ann",))],
    )
    monkeypatch.setattr(libraries, "_ir_dataset", lambda id: rows)
    assert list(libraries.documents("msmarco-document")) == [Document("D1", "T", "B", "https://a.example")]
    assert list(libraries.queries("dpr-w100/natural-questions/dev")) == [Query("0", "who", ("Ann",))]


def test_beirs_own_loader_reads_the_same_records(tmp_path):
    folder = beir_folder(tmp_path / "scifact")
    documents, queries, judgements = libraries.beir_records(folder, "train")
    assert documents[0] == Document("d0", "T0", "text 0") and len(documents) == 3
    assert queries == [Query("1", "query 1"), Query("2", "query 2")]
    assert judgements == [Judgement("1", "d1", 1), Judgement("2", "d2", 1)]


def test_beirs_loader_agrees_with_ours_on_real_data(real_data):
    from repro.retrieval.datasets.sources import locate

    documents, queries, judgements = libraries.beir_records(real_data / "beir/nfcorpus", "test")
    ours = reading.documents(locate("beir/nfcorpus", "documents", real_data))
    assert documents == [document._replace(url="") for document in ours]
    assert set(queries) == set(reading.queries(locate("beir/nfcorpus/test", "queries", real_data)))
    assert set(judgements) == set(reading.judgements(locate("beir/nfcorpus/test", "qrels", real_data)))


FAILURES = [ConnectionError("no route"), OSError(28, "No space left on device"), RuntimeError("all failed")]


@pytest.mark.parametrize("error", FAILURES)
def test_what_the_network_refuses_is_one_sentence_with_a_remedy(monkeypatch, error):
    def refuse(id):
        raise error

    monkeypatch.setattr(libraries, "_ir_dataset", refuse)
    for read, id in [(libraries.documents, "dpr-w100"), (libraries.judgements, "beir/fever/test")]:
        with pytest.raises(BlockedError) as caught:
            list(read(id))
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        assert caught.value.cause == f"{id} could not be downloaded ({reason})"
        assert "\n" not in str(caught.value) and caught.value.remedy.startswith("check the network")


def test_beir_downloads_the_archive_a_forum_is_in(monkeypatch, tmp_path):
    from beir import util

    asked = []
    monkeypatch.setattr(util, "download_and_unzip", lambda url, parent: asked.append(url) or f"{parent}/x")
    assert libraries.beir_folder("beir/cqadupstack/gis", tmp_path) == tmp_path / "x/gis"
    assert libraries.beir_folder("beir/webis-touche2020/v2", tmp_path) == tmp_path / "x"
    assert [url.rsplit("/", 1)[1] for url in asked] == ["cqadupstack.zip", "webis-touche2020.zip"]


def test_every_id_said_to_be_in_ir_datasets_is_there():
    import ir_datasets

    from repro.retrieval.datasets.catalog import catalog

    for id, entry in catalog().items():
        if entry.source == "ir_datasets" and not entry.members:
            known = ir_datasets.load(id)
            names = {"documents": "docs", "queries": "queries", "qrels": "qrels", "triples": "docpairs"}
            assert all(known.has(names[piece]) for piece in dataset(id).pieces), id
