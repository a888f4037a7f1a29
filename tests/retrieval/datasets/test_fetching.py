"""Downloads from libraries and the hub."""

import io
import json
from hashlib import md5

import pytest

from repro.errors import BlockedError, DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets import fetching, libraries, reading, word_lists
from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.fetching import amount, make, offer
from repro.retrieval.datasets.record_files import documents
from repro.retrieval.datasets.sources import locate
from tests.local_site import served
from tests.retrieval.datasets.folders import without_counts, write

TITLED, LIST = "msmarco-passage/rocketqa", "lists/stopwords.txt"


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["msmarco-passage", "msmarco-passage/dev/small"], "2 collections (1.06 GB)"),
        (["beir/cqadupstack/android", "beir/cqadupstack/gis"], "2 collections (5.34 GB)"),
        (["beir/cqadupstack"], "1 collection (5.34 GB)"),
        (["beir/scifact", "beir/scifact/test"], "2 collections (2.8 MB)"),
        (["wikipedia"], "1 collection (11.69 GB)"),
        (["wikipedia-bookcorpus"], "1 collection (11.69 GB)"),
        (
            ["beir/scifact", "msmarco-passage/train/hard-negatives"],
            "2 collections (2.8 MB, and 1 of unknown size)",
        ),
        (["msmarco-passage/train/hard-negatives"], "1 collection (size unknown)"),
        (["beir/scifact", "model:a/b", "model:c"], "1 collection (2.8 MB), 2 checkpoints"),
        (["model:a/b", "model:a/b"], "1 checkpoint"),
    ],
)
def test_an_archive_counts_once_and_what_is_unknown_is_said(ids, words):
    assert amount(ids) == words


@pytest.fixture
def library(monkeypatch):
    documents = [Document(f"d{n}", "T", f"text\n{n}", "https://x.example" if n else "") for n in range(3)]
    queries = [Query("0", "who\tdid\nit", ("Ann", "O'Neil")), Query("1", "what", ("x",))]
    judgements = [Judgement("1", "d1", 1), Judgement("1", "d1", 1), Judgement("0", "d2", 2)]
    monkeypatch.setattr(libraries, "documents", lambda id: iter(documents))
    monkeypatch.setattr(libraries, "queries", lambda id: iter(queries))
    monkeypatch.setattr(libraries, "judgements", lambda id: iter(judgements))
    return documents


NOT_GIVEN_OUT = ["bookcorpus", "cranfield", "wikipedia-bookcorpus", "dpr-w100/natural-questions/test"]


@pytest.mark.parametrize("id", NOT_GIVEN_OUT)
def test_what_nobody_gives_out_is_blocked_with_what_to_do(id):
    with pytest.raises(BlockedError) as caught:
        offer(id)
    assert "cannot be fetched" in caught.value.cause and caught.value.remedy


def test_what_needs_no_fetching_or_another_library_is_a_usage_error():
    with pytest.raises(UsageError, match="tiny/passage is embedded"):
        offer("tiny/passage")
    with pytest.raises(UsageError, match="'beir' cannot fetch"):
        offer("msmarco-passage", library="beir")


def test_another_collection_than_expected_replaces_nothing(library, tmp_path):
    path = write(tmp_path / "msmarco-passage/corpus.jsonl", json.dumps({"_id": "old", "text": "x"}))
    with pytest.raises(DataError, match="3 documents, but msmarco-passage has 8,841,823"):
        offer("msmarco-passage").load(tmp_path, Progress())
    assert "old" in path.read_text()


COMMIT = "c" * 40
NAME = "wikimedia/wikipedia"


@pytest.fixture
def hub(monkeypatch):
    from huggingface_hub import constants

    with served() as site:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", site.address)
        template = site.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield site


def publish(site, kind, name, files, *, commit=COMMIT):
    described = {"id": name, "sha": commit, "siblings": [{"rfilename": file} for file in files]}
    listed = [{"type": "file", "path": file, "size": len(files[file]), "oid": commit} for file in files]
    for revision in ("main", commit):
        _answer(site, f"api/{kind}/{name}/tree/{revision}", listed)
        _answer(site, f"api/{kind}/{name}/revision/{revision}", described)
    _answer(site, f"api/{kind}/{name}", described)
    prefix = "" if kind == "models" else f"{kind}/"
    for file, content in files.items():
        for revision in (commit, "main"):
            path = f"{prefix}{name}/resolve/{revision}/{file}"
            site.files[path] = content
            site.headers[path] = {"ETag": f'"{md5(content).hexdigest()}"', "X-Repo-Commit": commit}


def _answer(site, path, value):
    site.files[path] = json.dumps(value).encode()
    site.headers[path] = {"Content-Type": "application/json"}


def shard(*numbers) -> bytes:
    import pyarrow
    import pyarrow.parquet

    columns = {"id": "{}", "url": "https://en.example/{}", "title": "T{}", "text": "text {} é"}
    rows = {name: [form.format(n) for n in numbers] for name, form in columns.items()}
    packed = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(rows), packed)
    return packed.getvalue()


SHARDS = {f"20231101.en/train-0000{n}-of-00003.parquet": shard(2 * n, 2 * n + 1) for n in range(3)}


def test_a_checkpoint_comes_with_what_is_needed_of_it(hub, tmp_path):
    files = {"config.json": b"{}", "model.safetensors": b"1", "tf_model.h5": b"unwanted", "vocab.txt": b"a\n"}
    publish(hub, "models", "some/model", files)
    [folder] = fetching.offer("model:some/model").load(tmp_path, Progress())
    assert folder == tmp_path / "models/some/model"
    there = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert there == {name: content for name, content in files.items() if name != "tf_model.h5"}


def test_a_text_of_the_hub_is_fetched_file_by_file(hub, tmp_path):
    publish(hub, "datasets", NAME, {"20231101.fr/train-0.parquet": b"", **SHARDS})
    [path] = fetching.offer("wikipedia").load(tmp_path, Progress())
    expected = [Document(str(n), f"T{n}", f"text {n} é", f"https://en.example/{n}") for n in range(6)]
    assert list(documents(path)) == expected
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == ["wikipedia.jsonl"]


def test_a_text_that_was_cut_off_goes_on_with_the_file_it_had_come_to(hub, tmp_path):
    publish(hub, "datasets", NAME, SHARDS)
    second = f"datasets/{NAME}/resolve/{COMMIT}/{sorted(SHARDS)[1]}"
    content = hub.files.pop(second)
    with pytest.raises(BlockedError) as caught:
        fetching.offer("wikipedia").load(tmp_path, Progress())
    assert caught.value.remedy.endswith("run the command again to continue")
    assert not (tmp_path / "text/wikipedia.jsonl").exists()
    hub.files[second], hub.asked[:] = content, []
    [path] = fetching.offer("wikipedia").load(tmp_path, Progress())
    assert [document.id for document in documents(path)] == list("012345")
    asked = {path for path, _ in hub.asked if path.endswith(".parquet")}
    assert asked == {f"datasets/{NAME}/resolve/{COMMIT}/{name}" for name in sorted(SHARDS)[1:]}


@pytest.fixture
def published(tmp_path):
    texts = write(tmp_path / "para.txt", "0\tfirst passage\n1\tsecond\n10\tthird\n")
    return texts, write(tmp_path / "para.title.txt", "10\tC\n0\tA title\n")


def test_texts_and_titles_are_joined_by_number(published, tmp_path, monkeypatch):
    without_counts(monkeypatch, TITLED)
    path = make(TITLED, published, tmp_path / "data", Progress())
    source = locate(TITLED, "documents", tmp_path / "data")
    assert source.files == (path,)
    expected = [("0", "A title", "first passage"), ("1", "", "second"), ("10", "C", "third")]
    assert list(reading.documents(source)) == [Document(*row) for row in expected]


def test_fewer_passages_than_the_papers_had_replace_nothing(published, tmp_path):
    with pytest.raises(DataError, match="3 documents, but msmarco-passage/rocketqa has 8,841,823"):
        make(TITLED, published, tmp_path / "data", Progress())
    assert not list((tmp_path / "data").rglob("*.jsonl*"))


@pytest.mark.parametrize(
    ("texts", "words"),
    [("1\tb\n0\ta\n", "para.txt:2: passage 0 follows 1"), ("0 a\n", "para.txt:1: is not a number and")],
)
def test_lines_of_another_form_are_refused(texts, words, published, tmp_path):
    write(published[0], texts)
    with pytest.raises(DataError, match=words):
        make(TITLED, published, tmp_path / "data", Progress())


@pytest.fixture
def lists(monkeypatch, tmp_path):
    parts = {"nltk": ["and", "the"], "inquery": ["albeit", "the"]}

    def stated(title, words):
        return {"title": title, "words": len(words), "sha256": word_lists.digest(words), "from": "there"}

    union = sorted(set().union(*parts.values()))
    entry = {**stated("", union), "parts": [stated(name, words) for name, words in parts.items()]}
    monkeypatch.setattr(word_lists, "known_lists", lambda: {LIST: entry})
    return [write(tmp_path / name, "\n".join(reversed(words)) + "\n") for name, words in parts.items()]


def test_a_list_is_made_of_its_parts_and_then_believed(lists, tmp_path):
    made = word_lists.make(LIST, lists)
    assert made == word_lists.make(LIST, reversed(lists)) == ["albeit", "and", "the"]
    write(tmp_path / LIST, "The\nalbeit\n\nand\n")
    assert word_lists.fault(tmp_path, LIST) == ""
    assert word_lists.at_hand(tmp_path, LIST) == made


def test_any_other_file_of_its_name_is_not_the_list(lists, tmp_path):
    file = write(tmp_path / LIST, "the\nand\n")
    assert word_lists.fault(tmp_path, LIST) == (
        f"{file} is not the union of nltk and inquery (2 words instead of 3)"
    )
    assert word_lists.at_hand(tmp_path, LIST) is None
    assert word_lists.fault(tmp_path / "elsewhere", LIST) == ""


def test_a_part_that_is_another_or_lacks_is_named(lists, tmp_path):
    other = write(tmp_path / "other", "of\n")
    with pytest.raises(DataError, match=r"other: its 1 words fit no missing part .*: inquery \(2\), there"):
        word_lists.make(LIST, [lists[0], other])
    with pytest.raises(DataError, match=r"also needs inquery \(2\), there"):
        word_lists.make(LIST, lists[:1])


def test_the_stop_words_of_the_papers_are_known_by_their_digests():
    stated = word_lists.known_lists()[LIST]
    assert [part["words"] for part in stated["parts"]] == [179, 418]
    assert stated["words"] == 475
    assert all(len(one["sha256"]) == 64 for one in (stated, *stated["parts"]))
