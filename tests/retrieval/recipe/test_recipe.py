import pytest

from repro.errors import UsageError
from repro.manifest.reading_schema import Reading
from repro.retrieval.recipe.request import Choices, Request

READING = Reading(id="r", kind="silence", where="§1", paper="x", choices={"a": 1, "b": 2}, default="a")


def test_the_default_is_taken_unless_overridden_and_the_use_is_noted():
    choices = Choices({"r": READING})
    assert choices.value("r") == 1
    assert choices.used == {"r": "a"} and choices.departures() == {}
    other = Choices({"r": READING}, {"r": "b"})
    assert other.value("r") == 2
    assert other.departures() == {"r": "b"}


def test_a_reading_or_choice_that_does_not_exist_is_named():
    with pytest.raises(UsageError, match="'s' is not a known reading"):
        Choices({"r": READING}).value("s")
    with pytest.raises(UsageError, match="reading r has no choice c"):
        Choices({"r": READING}, {"r": "c"}).value("r")


def test_an_original_is_taken_where_it_lies_and_its_substitute_said_where_not(tmp_path):
    choices = Choices({"r": READING}, data=tmp_path)
    assert choices.original("r", "lists/words.txt", otherwise="b") is None
    assert choices.departures() == {"r": "b"}
    assert choices.substitutes == {"r": "lists/words.txt is not in REPRO_DATA"}
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/words.txt").write_text("x")
    found = Choices({"r": READING}, data=tmp_path)
    assert found.original("r", "lists/words.txt", otherwise="b") == tmp_path / "lists/words.txt"
    assert found.departures() == {}


def test_where_only_originals_count_nothing_stands_in_and_the_choice_that_does_without_is_noted(tmp_path):
    choices = Choices({"r": READING}, data=tmp_path, originals_only=True)
    assert choices.original("r", "lists/words.txt", otherwise="b") == tmp_path / "lists/words.txt"
    assert (choices.departures(), choices.substitutes) == ({}, {})
    assert choices.missing == {"lists/words.txt": "r=b"}


def test_a_packed_original_is_an_original(tmp_path):
    (tmp_path / "corpus.jsonl.gz").touch()
    choices = Choices({"r": READING}, data=tmp_path)
    assert choices.original("r", "corpus.jsonl", otherwise="b") and not choices.substitutes


def test_a_seed_of_the_user_goes_before_the_papers():
    assert Request("d", Choices({})).seed_or(42) == 42
    assert Request("d", Choices({}), seed=7).seed_or(42) == 7


def test_the_collection_of_a_dataset_is_its_corpus():
    assert Request("msmarco-passage/dev/small", Choices({})).collection == "msmarco-passage"
