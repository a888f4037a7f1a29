import json

import pytest

from repro.errors import DataError
from repro.retrieval.datasets import record_files
from repro.retrieval.datasets.record_files import documents
from repro.retrieval.datasets.records import Document


def _write(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_documents_keep_the_order_of_the_file_and_every_character(tmp_path):
    path = _write(
        tmp_path / "corpus.jsonl",
        {"_id": "b", "title": " T ", "text": " x\u2028\ty ", "metadata": {}},
        {"_id": "a", "text": "", "title": None, "metadata": {"url": "https://one.example"}},
        {"_id": "c", "text": "é", "url": "https://two.example", "extra": [1]},
    )
    assert list(documents(path)) == [
        Document("b", " T ", " x\u2028\ty "),
        Document("a", "", "", "https://one.example"),
        Document("c", "", "é", "https://two.example"),
    ]


MALFORMED = {
    "not json": ("{'_id': 1}", "is not JSON"),
    "cut off": ('{"_id": "x", "text": "abc', "is not JSON"),
    "nested too deep": ("[" * 100_000, "is not JSON"),
    "a list": ("[1]", "not a JSON object but list"),
    "no id": ({"text": "x"}, "the _id is None"),
    "a number as id": ({"_id": 3, "text": "x"}, "the _id is 3"),
    "an empty id": ({"_id": "", "text": "x"}, "the _id is ''"),
    "white space in the id": ({"_id": "a b", "text": "x"}, "has white space"),
    "no text": ({"_id": "x"}, "the text is None"),
    "a number as text": ({"_id": "x", "text": 3}, "the text is 3"),
    "a list as title": ({"_id": "x", "text": "y", "title": []}, r"the title is \[\]"),
    "half a surrogate": ('{"_id": "x", "text": "a\\ud800"}', "half a character at position 1"),
    "a key twice": ('{"_id": "x", "text": "y", "_id": "z"}', "the key '_id' comes twice"),
    "a key twice inside": (
        '{"_id": "x", "text": "y", "metadata": {"url": "a", "url": "b"}}',
        "'url' comes twice",
    ),
    "a control character in the id": ({"_id": "d\x00x", "text": "y"}, "has a control character"),
    "the same id again": ({"_id": "good", "text": "z"}, "the _id 'good' was on a line before"),
}


@pytest.mark.parametrize(("row", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_line_is_refused_with_its_number_and_reason(tmp_path, row, reason):
    path = _write(tmp_path / "corpus.jsonl", {"_id": "good", "text": "x"}, row)
    with pytest.raises(DataError, match=rf"corpus\.jsonl:2: .*{reason}"):
        list(documents(path))


def test_what_comes_before_a_malformed_line_is_still_streamed(tmp_path):
    path = _write(tmp_path / "corpus.jsonl", {"_id": "good", "text": "x"}, "broken")
    stream = documents(path)
    assert next(stream).id == "good"
    with pytest.raises(DataError):
        next(stream)


def test_documents_that_are_known_are_passed_over_but_their_ids_count(tmp_path):
    rows = [{"_id": name, "text": name} for name in "abc"]
    path = _write(tmp_path / "corpus.jsonl", "not JSON", "", *rows)
    assert [document.id for document in documents(path, ["x"])] == ["a", "b", "c"]
    assert [document.id for document in documents(path, ["x", "a"])] == ["b", "c"]
    with pytest.raises(DataError, match=r"corpus\.jsonl:5: the _id 'c' was on a line before"):
        list(documents(path, ["c"]))


@pytest.mark.parametrize("recent", [1, 2, 7, 1000])
def test_an_id_that_comes_twice_is_found_however_far_apart(tmp_path, monkeypatch, recent):
    monkeypatch.setattr(record_files, "RECENT", recent)
    rows = [{"_id": f"d{n}", "text": ""} for n in range(40)]
    for place in (1, 2, 17, 39, 40):
        path = _write(tmp_path / "corpus.jsonl", *rows[:place], rows[place // 3], *rows[place:])
        with pytest.raises(
            DataError, match=rf"corpus\.jsonl:{place + 1}: the _id 'd{place // 3}' was on a line"
        ):
            list(documents(path))
    assert len(list(documents(_write(path, *rows)))) == 40


def test_ids_of_one_hash_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(record_files, "RECENT", 3)
    monkeypatch.setattr(record_files, "hash", len, raising=False)
    path = _write(tmp_path / "corpus.jsonl", *({"_id": f"d{n}", "text": ""} for n in range(10)))
    assert len(list(documents(path))) == 10
