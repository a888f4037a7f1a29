import pytest

from repro.errors import UsageError
from repro.retrieval.datasets.sources import MissingPiece, Source, describe_size, locate
from tests.retrieval.datasets.folders import beir_folder, write

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
    assert isinstance(
        locate(DL20, "queries", tmp_path), MissingPiece
    )  # which topics are judged is not known yet
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


def test_the_collection_inside_anothers_folder_is_not_mistaken_for_it(tmp_path):
    beir_folder(tmp_path / "msmarco-passage/train-pool-12k")
    assert isinstance(locate("msmarco-passage", "documents", tmp_path), MissingPiece)
    assert locate("msmarco-passage/train-pool-12k/train", "queries", tmp_path).kind == "folder"


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
        "run `repro data fetch msmarco-passage` (1.06 GB; MS MARCO terms, non-commercial research) "
        "or lay msmarco-passage/corpus.jsonl into the data folder"
    )
    remedy = locate(DL20, "queries", tmp_path).remedy
    assert "topics/topics.dl20.txt with qrels/qrels.dl20-passage.txt" in remedy
    assert f"`repro data fetch {DL20}` (0.2 MB" in locate(DL20, "qrels", tmp_path).remedy


def test_listed_negatives_are_a_file_of_their_own(tmp_path):
    id = "msmarco-passage/train/hard-negatives"
    missing = locate(id, "negatives", tmp_path)
    assert missing.cause == f"the negatives of {id} are not in {tmp_path}"
    assert missing.remedy == (
        f"run `repro data fetch {id}` (size unknown; MS MARCO terms; none stated for the negatives) "
        "or lay msmarco-passage/msmarco-hard-negatives.jsonl into the data folder"
    )
    assert locate(id, "negatives", None, allow_download=True).kind == "library"
    path = write(tmp_path / "msmarco-passage/msmarco-hard-negatives.jsonl.gz", "")
    found = locate(id, "negatives", tmp_path)
    assert (found.format, found.files) == ("negatives", (path,))
    with pytest.raises(UsageError, match="has no triples"):
        locate(id, "triples", tmp_path)


def test_a_split_of_a_beir_collection_is_fetched_with_its_corpus(tmp_path):
    remedy = locate("beir/nfcorpus/train", "qrels", tmp_path).remedy
    assert "`repro data fetch beir/nfcorpus` (2.4 MB; academic use)" in remedy
    assert "lay beir/nfcorpus/qrels/train.tsv" in remedy


def test_without_a_folder_it_is_the_one_that_fetching_makes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    missing = locate("cranfield", "documents", None)
    assert missing.cause.endswith(f"are not in {tmp_path}/repro-bench/collections")
    assert missing.remedy.startswith("take it from") and missing.otherwise == missing.remedy
    assert locate("beir/fiqa", "documents", None).remedy.startswith("run `repro data fetch beir/fiqa`")
    assert "which is not a folder" in locate("cranfield", "documents", tmp_path / "nowhere").cause


def test_all_parts_that_are_missing_are_told_each_with_its_own_way(tmp_path):
    missing = locate("wikipedia-bookcorpus", "documents", tmp_path)
    assert "of wikipedia are not" in missing.cause and "of bookcorpus are not" in missing.cause
    assert missing.fetch == ("wikipedia",)
    assert missing.otherwise == locate("bookcorpus", "documents", tmp_path).remedy


def test_asking_for_what_a_collection_does_not_have_is_a_usage_error():
    with pytest.raises(UsageError, match="tiny/passage has no queries; it is a corpus"):
        locate("tiny/passage", "queries", None)
    with pytest.raises(UsageError, match="has no documents: it is the mean of tiny/cqadupstack/mending"):
        locate("tiny/cqadupstack", "documents", None)
    with pytest.raises(UsageError, match="there is no piece 'answers'"):
        locate("tiny/passage", "answers", None)
    with pytest.raises(UsageError, match="there is no dataset 'tiny/passages'"):
        locate("tiny/passages", "documents", None)


def test_sizes_are_told_in_the_unit_that_suits_them():
    assert [describe_size(size) for size in (None, 4276, 2816079, 1057717952)] == [
        "size unknown",
        "0.0 MB",
        "2.8 MB",
        "1.06 GB",
    ]
