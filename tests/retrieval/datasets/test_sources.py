import json
import shutil
from pathlib import Path

import pytest

from repro.errors import DataError, UsageError
from repro.retrieval.datasets import catalog, reading, sources
from repro.retrieval.datasets.digests import planned_source
from repro.retrieval.datasets.sources import MissingPiece, Source, locate
from repro.running.requirements import Machine
from tests.retrieval.datasets.folders import beir_folder, planned, without_counts, write
from tests.standins.fill import fill
from tests.standins.served import at_home

DL20 = "msmarco-passage/trec-dl-2020/judged"


def test_a_beir_folder_serves_the_corpus_and_every_split(tmp_path):
    folder = beir_folder(tmp_path / "beir/scifact")
    assert locate("beir/scifact", "documents", tmp_path).files == (folder / "corpus.jsonl",)
    assert locate("beir/scifact/test", "documents", tmp_path).dataset == "beir/scifact"
    queries = locate("beir/scifact/train", "queries", tmp_path)
    assert (queries.kind, queries.format) == ("folder", "beir")
    assert queries.files == (folder / "queries.jsonl", folder / "qrels/train.tsv")
    assert locate("beir/scifact/test", "qrels", tmp_path).files == (folder / "qrels/test.tsv",)


def test_topics_and_qrels_may_lie_apart_from_their_corpus(tmp_path):
    topics = write(tmp_path / "topics/topics.dl20.txt", "1\ta\n")
    assert isinstance(locate(DL20, "queries", tmp_path), MissingPiece)  # which are judged is not known yet
    qrels = write(tmp_path / "qrels/qrels.dl20-passage.txt", "1 0 d 1\n")
    assert locate(DL20, "queries", tmp_path).files == (topics, qrels)
    assert locate(DL20, "qrels", tmp_path).format == "trec"
    assert isinstance(locate("msmarco-passage", "documents", tmp_path), MissingPiece)


def test_a_beir_folder_goes_before_separate_files_and_the_preferred_name_before_the_other(tmp_path):
    write(tmp_path / "topics/topics.dl20.txt", "1\ta\n")
    write(tmp_path / "qrels/qrels.dl20-passage.txt", "1 0 d 1\n")
    assert locate(DL20, "queries", tmp_path).files[0].name == "topics.dl20.txt"
    write(tmp_path / "topics/topics.dl20-passage.txt", "1\ta\n")
    assert locate(DL20, "queries", tmp_path).files[0].name == "topics.dl20-passage.txt"
    write(tmp_path / "msmarco-passage/queries.jsonl", "")
    write(tmp_path / "msmarco-passage/qrels/trec-dl-2020/judged.tsv", "")
    assert locate(DL20, "queries", tmp_path).format == "beir"


@pytest.mark.parametrize("packing", [".gz", ".xz"])
def test_packed_files_are_found(tmp_path, packing):
    path = write(tmp_path / f"text/wikipedia-sample.jsonl{packing}", "")
    assert locate("text/wikipedia-sample", "documents", tmp_path).files == (path,)


def test_what_is_embedded_needs_no_folder():
    for id, piece in [("tiny/passage", "documents"), ("tiny/wiki/test", "queries"), ("tiny/beir", "qrels")]:
        assert locate(id, piece, None).kind == "embedded"


def test_a_set_judged_by_answers_has_no_qrels_and_misses_none(tmp_path):
    for id in ("dpr-w100/natural-questions/test", "tiny/wiki/test"):
        assert locate(id, "qrels", tmp_path).kind == "absent"
    write(tmp_path / "topics/topics.nq.test.txt", "who\t['a']\n")
    assert locate("dpr-w100/natural-questions/test", "queries", tmp_path).format == "answers"


def test_parts_are_found_together_or_not_at_all(tmp_path):
    write(tmp_path / "text/wikipedia.jsonl", "")
    missing = locate("wikipedia-bookcorpus", "documents", tmp_path)
    assert missing.cause == f"wikipedia-bookcorpus: the documents of bookcorpus are not in {tmp_path}"
    write(tmp_path / "text/bookcorpus.jsonl", "")
    found = locate("wikipedia-bookcorpus", "documents", tmp_path)
    assert [part.dataset for part in found.parts] == ["wikipedia", "bookcorpus"]


def test_a_library_is_a_source_only_for_an_explicit_download(tmp_path):
    assert isinstance(locate("msmarco-document", "documents", tmp_path), MissingPiece)
    found = locate("msmarco-document", "documents", tmp_path, allow_download=True)
    assert found == Source("msmarco-document", "documents", "library", "ir_datasets")
    assert isinstance(locate("bookcorpus", "documents", tmp_path, allow_download=True), MissingPiece)
    assert locate("msmarco-passage/train/triples-v2", "triples", None, allow_download=True).kind == "library"


def test_the_remedy_names_command_size_licence_and_layout(tmp_path):
    missing = locate("msmarco-passage", "documents", tmp_path)
    assert missing.cause == f"the documents of msmarco-passage are not in {tmp_path}"
    assert missing.remedy == (
        "run `repro data fetch msmarco-passage` (1.06 GB, MS MARCO terms, non-commercial research) "
        "or put msmarco-passage/corpus.jsonl into the data folder"
    )
    remedy = locate(DL20, "queries", tmp_path).remedy
    assert "topics/topics.dl20.txt with qrels/qrels.dl20-passage.txt" in remedy
    assert f"`repro data fetch {DL20}` (0.2 MB" in locate(DL20, "qrels", tmp_path).remedy


def test_listed_negatives_are_a_file_of_their_own(tmp_path):
    id = "msmarco-passage/train/hard-negatives"
    missing = locate(id, "negatives", tmp_path)
    assert missing.cause == f"the negatives of {id} are not in {tmp_path}"
    assert missing.remedy == (
        f"run `repro data fetch {id}` (size unknown, MS MARCO terms; none stated for the negatives) "
        "or put msmarco-passage/msmarco-hard-negatives.jsonl into the data folder"
    )
    assert locate(id, "negatives", None, allow_download=True).kind == "library"
    path = write(tmp_path / "msmarco-passage/msmarco-hard-negatives.jsonl.gz", "")
    found = locate(id, "negatives", tmp_path)
    assert (found.format, found.files) == ("negatives", (path,))
    with pytest.raises(UsageError, match="has no triples"):
        locate(id, "triples", tmp_path)


def test_a_split_of_a_beir_collection_is_fetched_with_its_corpus(tmp_path):
    remedy = locate("beir/nfcorpus/train", "qrels", tmp_path).remedy
    assert "`repro data fetch beir/nfcorpus` (2.4 MB, academic use)" in remedy
    assert "put beir/nfcorpus/qrels/train.tsv" in remedy


def test_without_a_folder_it_is_the_one_that_fetching_makes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    missing = locate("cranfield", "documents", None)
    assert missing.cause.endswith(f"are not in {tmp_path}/repro-bench/collections")
    assert missing.remedy.startswith("take it from") and missing.otherwise == missing.remedy
    assert locate("beir/fiqa", "documents", None).remedy.startswith("run `repro data fetch beir/fiqa`")


def test_a_source_survives_being_written_as_json():
    part = Source("a", "documents", "folder", "jsonl", (Path("/x/corpus.jsonl"),), version="2")
    whole = Source("b", "documents", "parts", parts=(part, Source("c", "documents", "embedded")))
    assert Source.from_json(json.loads(json.dumps(whole.to_json()))) == whole


READERS = {"documents": reading.documents, "queries": reading.queries, "qrels": reading.judgements}
READERS |= {"triples": reading.triples, "negatives": reading.negatives}


@pytest.fixture(scope="module")
def fetched(standins, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fetched")
    shutil.copytree(standins, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        at_home(folder / "home", patch)
        fill(folder / "home", folder / "data")
    return folder


@pytest.fixture
def believed(monkeypatch):
    """Let stand-ins pass for what they stand for: without counts and digests."""
    without_counts(monkeypatch, *catalog.catalog())
    stated = sources.home_layout()
    monkeypatch.setattr(sources, "home_layout", lambda: {**stated, "md5": {}})


def in_home(entry):
    return entry.source == "ir_datasets" and not entry.members


def test_every_piece_of_every_collection_reads_as_if_it_had_been_fetched(fetched, standins, believed):
    compared = 0
    for id, entry in catalog.catalog().items():
        is_of_nano = id.startswith("nano-beir")
        for piece in entry.pieces if in_home(entry) and not is_of_nano else ():
            here, there = locate(id, piece, None, home=standins / "home"), locate(id, piece, fetched / "data")
            assert (here.kind, there.kind) == ("home", "folder"), (id, piece)
            read = READERS[piece]
            assert list(read(here)) == list(read(there)), (id, piece)
            compared += 1
    assert compared == 105


def test_what_lies_in_the_data_folder_goes_before_the_home(fetched, standins):
    assert locate("beir/fiqa", "documents", fetched / "data", home=standins / "home").kind == "folder"


def test_a_download_with_another_digest_is_refused(standins, monkeypatch):
    without_counts(monkeypatch, "beir/scifact")
    source = locate("beir/scifact", "documents", None, home=standins / "home")
    with pytest.raises(DataError, match=r"scifact/source.zip: is not the file that ir_datasets downloads"):
        list(reading.documents(source))


def test_the_digests_are_those_of_ir_datasets_own_list():
    from ir_datasets.util import DownloadConfig

    stated = {
        f"{collection}/{one['cache_path']}": one["expected_md5"]
        for collection in ("msmarco-passage", "msmarco-document", "dpr-w100", "beir", "nano-beir")
        for one in DownloadConfig.contents()[collection].values()
        if "cache_path" in one and "expected_md5" in one
    }
    ours = sources.home_layout()["md5"]
    assert ours.items() <= stated.items() and len(ours) == 33 + 39


def test_a_plan_takes_the_home_and_knows_it_by_its_bytes(standins, tmp_path, believed):
    home = tmp_path / "home"
    shutil.copytree(standins / "home/beir/scifact", home / "beir/scifact")
    machine = Machine(home=home)
    params = planned("corpus", machine=machine, dataset="beir/scifact")
    assert not machine.obstacles and params["source"]["kind"] == "home"
    with planned_source(params) as source:
        assert len(list(reading.documents(source))) == 12
    archive = home / "beir/scifact/source.zip"
    archive.write_bytes(archive.read_bytes() + b" ")
    with pytest.raises(DataError, match="changed after planning"), planned_source(params):
        pass
