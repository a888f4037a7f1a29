"""A malformed collection fails the stage that reads it, with file and line."""

import json

import pytest

RUN = "run cotmae_v2/3/bm25/nfcorpus --format json"


@pytest.fixture
def collection(folders, monkeypatch):
    place = folders / "data/beir/nfcorpus"
    (place / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}"} for n in range(3)]
    queries = [{"_id": f"q{n}", "text": f"query {n}"} for n in range(2)]
    (place / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    (place / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (place / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td1\t2\n")
    monkeypatch.setenv("REPRO_DATA", str(folders / "data"))
    return place


def _failures(said):
    return [
        line.removeprefix("  failed: ") for line in said.err.splitlines() if line.startswith("  failed: ")
    ]


def test_another_number_of_records_than_the_papers_had_is_said(repro, collection):
    said = repro(RUN)
    assert said.status == 3
    assert _failures(said) == [
        f"{collection / file}: {count}, but {id} has {known} in the papers"
        for file, count, id, known in (
            ("corpus.jsonl", "3 documents", "beir/nfcorpus", "3,633"),
            ("queries.jsonl", "2 queries", "beir/nfcorpus/test", "323"),
            ("qrels/test.tsv", "2 qrels", "beir/nfcorpus/test", "12,334"),
        )
    ]
    [cell] = said.json
    assert (cell["verdict"], cell["measured"]) == ("failed", None)
    assert cell["why"] == _failures(said)[0]


MALFORMED = {
    "cut off": ("corpus.jsonl", b'{"_id": "d0", "title": "x", "te', ":1: is not JSON: Unterminated string"),
    "not UTF-8": (
        "corpus.jsonl",
        b'\n{"_id": "d0", "text": "\xff"}\n',
        ":2: byte 24 of the line (0xff) is not",
    ),
    "empty": ("corpus.jsonl", b"", ": is empty"),
    "a query twice": ("queries.jsonl", b'{"_id": "q0", "text": "x"}\n' * 2, ":2: the query id 'q0' repeats"),
    "a grade": (
        "qrels/test.tsv",
        b"query-id\tcorpus-id\tscore\nq0\td0\tx\n",
        ":2: the grade 'x' is not an integer",
    ),
    "no judgements": ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\n", ": has a header but no judgements"),
    "a query nowhere": ("qrels/test.tsv", b"q0\td0\t1\nq7\td0\t2\n", ": judges query 'q7', which "),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_with_its_line(repro, collection, name):
    file, content, words = MALFORMED[name]
    (collection / file).write_bytes(content)
    said = repro(RUN)
    assert said.status == 3
    assert any(told.startswith(f"{collection / file}{words}") for told in _failures(said)), said.err
    assert said.json[0]["verdict"] == "failed"


def test_a_packed_file_that_is_none_is_told(repro, collection):
    (collection / "corpus.jsonl").rename(collection / "corpus.jsonl.gz")
    said = repro(RUN)
    assert said.status == 3
    assert _failures(said)[0].startswith(f"{collection / 'corpus.jsonl.gz'}: the packed file is damaged")


def test_a_missing_file_is_blocked_with_the_way_to_get_it_and_a_failure_goes_before(repro, collection):
    (collection / "corpus.jsonl").unlink()
    for file in ("queries.jsonl", "qrels/test.tsv"):
        (collection / file).rename(collection / file.replace(".", "-gone."))
    said = repro(RUN)
    assert said.status == 4
    assert "put beir/nfcorpus/corpus.jsonl into" in said.json[0]["blocked"][0]["remedy"]
    (collection / "queries.jsonl").write_text("")
    (collection / "qrels/test.tsv").write_text("")
    assert repro(RUN).status == 3
