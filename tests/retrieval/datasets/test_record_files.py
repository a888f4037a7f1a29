import functools
import json
import random

import pytest

from repro.errors import DataError
from repro.retrieval.datasets import record_files
from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.record_files import documents, judgements, queries, split_of


def _write(path, content):
    path.write_bytes(content.encode())
    return path


def _write_rows(path, *rows):
    return _write(path, "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))


def test_documents_keep_the_order_of_the_file_and_every_character(tmp_path):
    path = _write_rows(
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


def test_documents_that_are_known_are_passed_over_but_their_ids_count(tmp_path):
    rows = [{"_id": name, "text": name} for name in "abc"]
    path = _write_rows(tmp_path / "corpus.jsonl", "not JSON", "", *rows)
    assert [document.id for document in documents(path, ["x"])] == ["a", "b", "c"]
    assert [document.id for document in documents(path, ["x", "a"])] == ["b", "c"]
    with pytest.raises(DataError, match=r"corpus\.jsonl:5: the _id 'c' repeats an earlier one"):
        list(documents(path, ["c"]))


@pytest.mark.parametrize("recent", [1, 2, 7, 1000])
def test_an_id_that_comes_twice_is_found_however_far_apart(tmp_path, monkeypatch, recent):
    monkeypatch.setattr(record_files, "RECENT", recent)
    rows = [{"_id": f"d{n}", "text": ""} for n in range(40)]
    for place in (1, 2, 17, 39, 40):
        path = _write_rows(tmp_path / "corpus.jsonl", *rows[:place], rows[place // 3], *rows[place:])
        reason = rf"corpus\.jsonl:{place + 1}: the _id 'd{place // 3}' repeats an earlier"
        with pytest.raises(DataError, match=reason):
            list(documents(path))
    assert len(list(documents(_write_rows(path, *rows)))) == 40


def test_beir_rows_are_read_with_and_without_header_and_with_windows_line_ends(tmp_path):
    rows = "q1\td1\t1\r\nq1\td2\t0\r\n"
    expected = [Judgement("q1", "d1", 1), Judgement("q1", "d2", 0)]
    for header in ("", "query-id\tcorpus-id\tscore\r\n"):
        assert list(judgements(_write(tmp_path / "test.tsv", header + rows), "beir")) == expected


def test_trec_rows_may_be_parted_by_any_white_space_and_have_negative_grades(tmp_path):
    path = _write(tmp_path / "qrels.txt", "1 0 d1 3\n1\tQ0\td2  -2\r\n")
    assert list(judgements(path, "trec")) == [Judgement("1", "d1", 3), Judgement("1", "d2", -2)]


def test_a_header_alone_is_refused(tmp_path):
    with pytest.raises(DataError, match="no judgements"):
        list(judgements(_write(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\n"), "beir"))


def test_trec_topics_lose_the_white_space_around_their_text(tmp_path):
    path = _write(tmp_path / "t.txt", "2\t Androgen receptor define\r\n1\twhat is é?  \n")
    assert list(queries(path, "trec")) == [Query("2", "Androgen receptor define"), Query("1", "what is é?")]


def test_questions_are_numbered_from_zero_and_their_answers_read_in_both_spellings(tmp_path):
    path = _write(
        tmp_path / "q.txt",
        "who won\t['Ann O\\'Neil', 'Bo']\n"
        'who sang\t"[\'Solange\', ""Destiny \'s Child""]"\n'
        'when\t["May 18, 2018"]\r\n',
    )
    assert list(queries(path, "answers")) == [
        Query("0", "who won", ("Ann O'Neil", "Bo")),
        Query("1", "who sang", ("Solange", "Destiny 's Child")),
        Query("2", "when", ("May 18, 2018",)),
    ]


def test_a_judged_query_without_text_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"qrels: judges query '9', which .*topics does not have \(1 such\)"):
        split_of(iter([Query("1", "a")]), {"1", "9"}, tmp_path / "topics", tmp_path / "qrels")


READERS = {
    "documents": documents,
    "beir": functools.partial(judgements, format="beir"),
    "trec": functools.partial(judgements, format="trec"),
    "topics": functools.partial(queries, format="trec"),
    "answers": functools.partial(queries, format="answers"),
}
GOOD = {
    "documents": '{"_id": "good", "text": "x"}',
    "beir": "1\td1\t1",
    "trec": "1 0 d1 1",
    "topics": "1\tgood",
    "answers": "good\t['yes']",
}
MALFORMED = {
    "not json": ("documents", "{'_id': 1}", "is not JSON"),
    "cut off": ("documents", '{"_id": "x", "text": "abc', "is not JSON"),
    "nested too deep": ("documents", "[" * 100_000, "is not JSON"),
    "a number as id": ("documents", {"_id": 3, "text": "x"}, "the _id is 3"),
    "white space in the id": ("documents", {"_id": "a b", "text": "x"}, "has white space"),
    "half a surrogate": ("documents", '{"_id": "x", "text": "a\\ud800"}', "a lone surrogate at position 1"),
    "a key twice": ("documents", '{"_id": "x", "text": "y", "_id": "z"}', "the key '_id' occurs twice"),
    "a control character in the id": ("documents", {"_id": "d\x00x", "text": "y"}, "has a control character"),
    "the same id again": ("documents", {"_id": "good", "text": "z"}, "the _id 'good' repeats an earlier one"),
    "too few columns": ("trec", "1 0 d2", "has 3 columns instead of 4"),
    "a grade with a point": ("trec", "1 0 d2 1.0", "the grade '1.0' is not an integer"),
    "blanks for tabs": ("beir", "1 d2 1", "has 1 columns instead of 3 separated by tabs"),
    "a blank in an id": ("beir", "1\td 2\t1", "has white space"),
    "no document": ("beir", "1\t\t1", "the document id is ''"),
    "another grade": ("trec", "1 0 d1 2", "judges 'd1' for query '1' as 2, an earlier line as 1"),
    "no tab": ("topics", "2 what", "has 1 columns instead of 2"),
    "no text of a query": ("topics", "2\t  ", "query '2' has no text"),
    "an id again": ("topics", "1\tagain", "the query id '1' repeats an earlier one"),
    "no list": ("answers", "who\tAnn", "not a list of strings"),
    "code": ("answers", "who\t__import__('os').listdir()", "not a list of strings"),
    "brackets without end": ("answers", "who\t" + "[" * 5000, "not a list of strings"),
}


@pytest.mark.parametrize(("form", "row", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_line_is_refused_with_its_number_and_reason(tmp_path, form, row, reason):
    path = _write_rows(tmp_path / "file", GOOD[form], row)
    with pytest.raises(DataError, match=f"file:2: .*{reason}"):
        list(READERS[form](path))


SOUND = {
    "trec": "".join(f"q{n % 5}\t0\td{n}\t{n % 3}\n" for n in range(40)),
    "answers": 'who sang the song\t"[\'Solange Knowles\', ""Destiny \'s Child"", \'\\u00e9\']"\n',
}


@pytest.mark.parametrize("form", SOUND)
def test_a_damaged_file_gives_records_or_a_data_error_but_never_another_error(tmp_path, form):
    generator, path = random.Random(7), tmp_path / "file"
    encoding, characters = ("latin-1", 2**8) if form == "trec" else ("utf-8", 0x2100)
    for _ in range(300):
        damaged = list(SOUND[form])
        for _ in range(generator.randrange(1, 6)):
            damaged[generator.randrange(len(damaged))] = chr(generator.randrange(characters))
        path.write_bytes("".join(damaged).encode(encoding))
        try:
            records = list(READERS[form](path))
        except DataError as error:
            assert str(error).startswith(str(path))
        else:
            assert all(isinstance(r.grade, int) if form == "trec" else r.text and r.answers for r in records)
