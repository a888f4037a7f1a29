"""What nobody gives out as it is read here is made of what its makers publish, and of nothing else."""

import pytest

from repro.errors import DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets import reading, word_lists
from repro.retrieval.datasets.catalog import Document
from repro.retrieval.datasets.fetching import make
from repro.retrieval.datasets.sources import locate
from tests.retrieval.datasets.folders import without_counts, write

TITLED, LIST = "msmarco-passage/rocketqa", "lists/stopwords.txt"


@pytest.fixture
def published(tmp_path):
    """RocketQA's two files; passage 1 has no title."""
    texts = write(tmp_path / "para.txt", "0\tfirst passage\n1\tsecond\n10\tthird\n")
    return texts, write(tmp_path / "para.title.txt", "10\tC\n0\tA title\n")


def test_texts_and_titles_are_joined_by_number(published, tmp_path, monkeypatch):
    without_counts(monkeypatch, TITLED)
    path = make(TITLED, published, tmp_path / "data", Progress())
    source = locate(TITLED, "documents", tmp_path / "data")
    assert source.files == (path,)
    assert list(reading.documents(source)) == [
        Document("0", "A title", "first passage"),
        Document("1", "", "second"),
        Document("10", "C", "third"),
    ]


def test_fewer_passages_than_the_papers_had_replace_nothing(published, tmp_path):
    with pytest.raises(DataError, match="3 documents where msmarco-passage/rocketqa has 8,841,823"):
        make(TITLED, published, tmp_path / "data", Progress())
    assert not list((tmp_path / "data").rglob("*.jsonl*"))


@pytest.mark.parametrize(
    ("texts", "words"),
    [("1\tb\n0\ta\n", "para.txt:2: passage 0 comes behind 1"), ("0 a\n", "para.txt:1: is not a number and")],
)
def test_lines_of_another_form_are_refused(texts, words, published, tmp_path):
    write(published[0], texts)
    with pytest.raises(DataError, match=words):
        make(TITLED, published, tmp_path / "data", Progress())


def test_other_names_and_other_numbers_of_files_are_refused(published, tmp_path):
    with pytest.raises(UsageError, match="there is no collection or list to make 'rocketqa'"):
        make("rocketqa", published, tmp_path, Progress())
    with pytest.raises(UsageError, match=r"made of two files, .* not of 1"):
        make(TITLED, published[:1], tmp_path, Progress())


@pytest.fixture
def lists(monkeypatch, tmp_path):
    """Two lists of two words each in place of NLTK's and INQUERY's, and their files."""
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
        f"{file} is not the union of nltk and inquery (2 words, where that has 3)"
    )
    assert word_lists.at_hand(tmp_path, LIST) is None
    assert word_lists.fault(tmp_path / "elsewhere", LIST) == ""


def test_a_part_that_is_another_or_lacks_is_named(lists, tmp_path):
    other = write(tmp_path / "other", "of\n")
    with pytest.raises(DataError, match=r"other: its 1 words are no part .*: inquery \(2\), there"):
        word_lists.make(LIST, [lists[0], other])
    with pytest.raises(DataError, match=r"is made of more: inquery \(2\), there"):
        word_lists.make(LIST, lists[:1])


def test_the_stop_words_of_the_papers_are_known_by_their_digests():
    stated = word_lists.known_lists()[LIST]
    assert [part["words"] for part in stated["parts"]] == [179, 418]
    assert stated["words"] == 475  # 122 words are on both
    assert all(len(one["sha256"]) == 64 for one in (stated, *stated["parts"]))
