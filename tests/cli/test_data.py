"""``repro data``: collections, their faults and downloads."""

import pytest

from repro.errors import BlockedError
from repro.retrieval.datasets import fetching
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.datasets.fetching import Offer
from tests.retrieval.datasets.folders import beir_folder, without_counts, word_list


@pytest.fixture
def data(folders, monkeypatch):
    place = folders / "data"
    (place / "beir/scifact").mkdir(parents=True)
    (place / "beir/scifact/corpus.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    monkeypatch.setenv("REPRO_DATA", str(place))
    return place


def test_every_dataset_is_listed_with_its_state(repro, data):
    rows = {row["id"]: row for row in repro("data list --format json").json}
    assert list(rows) == list(catalog())
    assert rows["beir/scifact"]["state"] == "found"
    assert rows["beir/scifact"]["where"] == [str(data / "beir/scifact/corpus.jsonl")]
    assert rows["tiny/passage"]["state"] == "embedded" and rows["beir/fiqa"]["state"] == "missing"
    assert all(row["licence"] for row in rows.values())


def test_without_a_folder_what_is_embedded_is_checked(repro):
    said = repro("data check tiny/passage tiny/passage/dev")
    assert (said.status, said.out) == (0, "no problems\n")


def test_what_is_not_held_against_a_known_digest_is_named_and_its_digest_is_told(repro, data, monkeypatch):
    without_counts(monkeypatch, "beir/fiqa", "beir/fiqa/test")
    beir_folder(data / "beir/fiqa")
    said = repro("data check beir/fiqa beir/fiqa/test")
    pieces = "documents of beir/fiqa, queries of beir/fiqa/test, judgements of beir/fiqa/test"
    assert (said.status, said.out) == (0, f"without a known digest: {pieces}\nno problems\n")
    said = repro("data check beir/fiqa/test --format json")
    assert said.status == 0 and [piece["piece"] for piece in said.json] == ["queries", "qrels"]
    assert said.json[1]["grades"] == {"0": 1, "2": 1} and len(said.json[1]["digest"]) == 64


def test_rows_that_are_not_those_published_are_a_problem(repro, data):
    questions = "".join(f"q {number}\t['a']\n" for number in range(3610))
    (data / "topics").mkdir()
    (data / "topics/topics.dpr.nq.test.txt").write_text(questions)
    said = repro("data check dpr-w100/natural-questions/test")
    words = "the queries of dpr-w100/natural-questions/test differ from the published ones: the same ids with"
    assert said.status == 2 and words in said.out and said.out.endswith("problems: 1\n")


def test_a_collection_that_is_not_the_papers_is_a_problem(repro, data):
    said = repro("data check")
    assert said.status == 2
    where = data / "beir/scifact/corpus.jsonl"
    problem = f"{where}: 1 documents, but beir/scifact has 5,183 in the papers"
    assert said.out.splitlines() == [problem, "problems: 1"]


def test_what_nobody_gives_out_freely_is_status_4_with_what_to_do(repro, data):
    closed = next(id for id, entry in catalog().items() if entry.source == "none" and not entry.members)
    said = repro("data fetch", closed, "--yes")
    assert said.status == 4
    assert said.sentence.startswith(f"{closed} cannot be fetched (")


def test_a_data_folder_that_cannot_be_written_is_refused(repro, data, refuse, monkeypatch):
    from repro.retrieval.datasets import libraries

    monkeypatch.setattr(libraries, "_ir_dataset", lambda id: pytest.fail("downloaded for nothing"))
    refuse(data, 30)
    said = repro("data fetch beir/fiqa --yes")
    assert said.status == 2
    words = "its file system is read-only; name another with REPRO_DATA"
    assert said.err.splitlines()[1] == f"repro: the data folder {data} cannot be used: {words}"


@pytest.fixture
def network(monkeypatch):
    class Network(list):
        fails = ()

    fetched = Network()

    def offer(id, **how):
        def load(root, progress):
            if id in fetched.fails:
                raise BlockedError(f"{id} could not be fetched", "try again")
            fetched.append(id)
            return [root / id]

        return Offer(f"{id}: some bytes", load)

    monkeypatch.setattr(fetching, "offer", offer)
    return fetched


WANTED = {"msmarco-passage", "msmarco-passage/dev/small", "msmarco-passage/trec-dl-2019/judged"}


def test_everything_a_row_lacks_is_fetched_with_one_consent(repro, network, folders, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(folders / "to-be-made"))
    said = repro("data fetch --for costa/1/sparse.bm25 --yes")
    assert said.status == 0 and set(network) == WANTED
    assert "total: 3 collections (1.06 GB); into " in said.err


def test_a_table_brings_its_checkpoints_and_what_is_fetched_twice_comes_once(repro, network):
    place = "costa/1/bm25neg.bert"
    said = repro("data fetch --for", place, "--for", f"{place}/dev.rr10", "--yes")
    assert said.status == 4 and "manual download: msmarco-passage/rocketqa: unpack RocketQA's" in said.err
    assert "model:bert-base-uncased" in network and len(network) == len(set(network)) == 5


def test_without_consent_nothing_is_fetched(repro, network):
    said = repro("data fetch --for costa/1")
    assert said.status == 2 and network == []
    assert said.err.endswith("fetching --for costa/1 needs your consent: add --yes\n")


def test_what_nobody_gives_out_is_told_beside_what_is_fetched(repro, network):
    said = repro("data fetch --for cotmae_v2/3/cotmae_v2/scifact --yes")
    assert said.status == 4 and "wikipedia" in network and "bookcorpus" not in network
    assert "manual download: wikipedia-bookcorpus: take a copy that you may use" in said.err


def test_where_all_is_at_hand_there_is_nothing_to_fetch(repro, real_data, network, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", str(real_data))
    said = repro("data fetch --for cotmae_v2/3/bm25/scifact")
    assert (said.status, said.out) == (0, "nothing to fetch\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "data fetch needs an ID or --for PAPER/TABLE"),
        (("--for", "costra/1"), "Did you mean costa?"),
        (("--for", "costa/99"), "costa has no table 99"),
        (("--for", "costa/1/nope"), "the selection has no row nope"),
        (("--for", "costa/1/a/b/c"), "is not the name of a cell"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_sentence(repro, arguments, words):
    assert words in repro("data fetch", *arguments).refusal


def test_a_list_is_made_of_the_files_of_its_makers_and_of_nothing_else(repro, data, tmp_path, monkeypatch):
    part = word_list(monkeypatch, tmp_path, "lists/stopwords.txt", ["the", "of"])
    said = repro("data make lists/stopwords.txt", str(part))
    assert (said.status, said.out) == (0, f"{data / 'lists/stopwords.txt'}\n")
    assert (data / "lists/stopwords.txt").read_text() == "of\nthe\n"
    part.write_text("and\n")
    said = repro("data make lists/stopwords.txt", str(part))
    assert said.refusal.startswith(f"{part}: its 1 words fit no missing part of lists/stopwords.txt")
    assert (data / "lists/stopwords.txt").read_text() == "of\nthe\n"


def test_what_is_not_made_names_what_is(repro, data):
    said = repro("data make msmarco-passage para.txt")
    assert "Known: msmarco-passage/rocketqa, lists/stopwords.txt" in said.refusal
