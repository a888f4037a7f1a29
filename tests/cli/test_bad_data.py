"""A malformed collection fails the stage that reads it, with file and line, and holds back only what needs it."""

import json

import pytest

RUN = ("run", "cotmae_v2/3/bm25/nfcorpus", "--format", "json")


@pytest.fixture
def collection(folders, monkeypatch):
    """The folder of a collection with three documents, two queries and their judgements; the real one has more."""
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
    said = repro(*RUN)
    assert said.status == 3
    assert _failures(said) == [
        f"{collection / file}: {count} where {id} has {known}: not the collection the papers used"
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
    "not an object": ("corpus.jsonl", b"[1]\n", ":1: is not a JSON object but list"),
    "without an id": ("corpus.jsonl", b'{"text": "x"}\n', ":1: the _id is None, not a string"),
    "a numeric id": ("corpus.jsonl", b'{"_id": 1, "text": "x"}\n', ":1: the _id is 1, not a string"),
    "without text": ("corpus.jsonl", b'{"_id": "d0"}\n', ":1: the text is None, not a string"),
    "an id twice": (
        "corpus.jsonl",
        b'{"_id": "d0", "text": "x"}\n' * 2,
        ":2: the _id 'd0' was on a line before",
    ),
    "not UTF-8": (
        "corpus.jsonl",
        b'\n{"_id": "d0", "text": "\xff"}\n',
        ":2: byte 24 of the line (0xff) is not",
    ),
    "empty": ("corpus.jsonl", b"", ": is empty"),
    "a query cut off": ("queries.jsonl", b'{"_id": "q0", "te', ":1: is not JSON: Unterminated string"),
    "a query twice": ("queries.jsonl", b'{"_id": "q0", "text": "x"}\n' * 2, ":2: the query id 'q0' was on"),
    "no text": ("queries.jsonl", b'{"_id": "q0", "text": " "}\n', ":1: query 'q0' has no text"),
    "no queries": ("queries.jsonl", b"", ": is empty"),
    "a grade": (
        "qrels/test.tsv",
        b"query-id\tcorpus-id\tscore\nq0\td0\tx\n",
        ":2: the grade 'x' is not an integer",
    ),
    "columns": ("qrels/test.tsv", b"q0 d0 1\n", ":1: has 1 columns instead of 3 parted by tabs"),
    "two grades": (
        "qrels/test.tsv",
        b"q0\td0\t1\nq0\td0\t2\n",
        ":2: judges 'd0' for query 'q0' as 2, a line before",
    ),
    "no judgements": ("qrels/test.tsv", b"query-id\tcorpus-id\tscore\n", ": has a header but no judgements"),
    "a query nowhere": ("qrels/test.tsv", b"q0\td0\t1\nq7\td0\t2\n", ": judges query 'q7', which "),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_named_with_its_line(repro, collection, name):
    file, content, words = MALFORMED[name]
    (collection / file).write_bytes(content)
    said = repro(*RUN)
    assert said.status == 3
    assert any(told.startswith(f"{collection / file}{words}") for told in _failures(said)), said.err
    assert said.json[0]["verdict"] == "failed"


def test_a_packed_file_that_is_none_is_told(repro, collection):
    (collection / "corpus.jsonl").rename(collection / "corpus.jsonl.gz")
    said = repro(*RUN)
    assert said.status == 3
    assert _failures(said)[0].startswith(f"{collection / 'corpus.jsonl.gz'}: the packed file is damaged")


def test_a_missing_file_is_blocked_with_the_way_to_get_it_and_a_failure_goes_before(repro, collection):
    (collection / "corpus.jsonl").unlink()
    for file in ("queries.jsonl", "qrels/test.tsv"):
        (collection / file).rename(collection / file.replace(".", "-gone."))
    said = repro(*RUN)
    assert said.status == 4
    assert "lay beir/nfcorpus/corpus.jsonl into" in said.json[0]["blocked"][0]["remedy"]
    (collection / "queries.jsonl").write_text("")
    (collection / "qrels/test.tsv").write_text("")
    assert repro(*RUN).status == 3


def test_data_check_reads_it_and_names_the_same(repro, collection):
    (collection / "qrels/test.tsv").write_text("q0\td0\tx\n")
    said = repro("data", "check", "beir/nfcorpus/test", "beir/nfcorpus")
    assert said.status == 2
    assert f"{collection / 'qrels/test.tsv'}:1: the grade 'x' is not an integer" in said.out.splitlines()


def test_what_data_check_misses_is_status_4_with_a_remedy(repro, folders):
    said = repro("data", "check", "beir/fiqa")
    assert said.status == 4
    assert "run `repro data fetch beir/fiqa`" in said.out
