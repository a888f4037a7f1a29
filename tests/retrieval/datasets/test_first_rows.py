import zlib

import pytest

from repro.retrieval.datasets.arrow import write_rows
from repro.retrieval.datasets.catalog import Judgement
from repro.retrieval.datasets.first_rows import FirstRows
from repro.retrieval.datasets.negative_files import ListedQuery
from tests.retrieval.datasets.folders import write_lines

QUERIES, DOCUMENTS = ["q0", "q1", "q2"], ["a", "b", "c", "d"]


@pytest.fixture
def rows():
    return FirstRows(QUERIES, DOCUMENTS)


def test_what_was_read_keeps_its_name_and_what_was_not_is_stood_for_by_its_checksum(rows):
    [known, unknown] = rows.triples([("q1", "b", "d"), ("9", "77", "78")])
    assert known == ("q1", "b", "d")
    documents = [DOCUMENTS[zlib.crc32(name) % 4] for name in (b"77", b"78")]
    assert unknown == (QUERIES[zlib.crc32(b"9") % 3], *documents)


def test_judgements_are_of_the_first_queries_and_the_highest_grade_of_a_pair_stays(rows):
    named = [Judgement("q0", f"{number}", number % 3) for number in range(40)]
    kept = rows.judgements([*named, Judgement("9", "a", 1), Judgement("q2", "d", -1)])
    assert {j.query for j in kept} == {"q0", "q2"} and {j.document for j in kept} <= {*DOCUMENTS}
    assert len({(j.query, j.document) for j in kept}) == len(kept)
    grades = [j.grade for j in named if DOCUMENTS[zlib.crc32(j.document.encode()) % 4] == "a"]
    assert next(j.grade for j in kept if (j.query, j.document) == ("q0", "a")) == max(grades)


def test_listed_negatives_name_a_query_once(rows):
    listed = [ListedQuery(f"{n}", [("x", 9.0)], {"bm25": [("y", 1.0), ("b", None)]}) for n in range(20)]
    kept = list(rows.listed(listed))
    assert sorted(row.query for row in kept) == QUERIES
    assert kept[0].systems["bm25"] == [(DOCUMENTS[zlib.crc32(b"y") % 4], 1.0), ("b", None)]


def test_where_all_queries_or_documents_are_read_their_names_stay():
    assert list(FirstRows(None, DOCUMENTS).triples([("9", "a", "b")])) == [("9", "a", "b")]
    assert FirstRows(QUERIES, None).judgements([Judgement("q1", "77", 2)]) == [Judgement("q1", "77", 2)]


def test_the_names_are_those_of_a_stages_inputs(tmp_path):
    documents = [{"id": name, "title": "", "text": ""} for name in DOCUMENTS]
    write_rows(documents, dict.fromkeys(documents[0], "string"), tmp_path / "corpus/arrow")
    write_lines(tmp_path / "queries/queries.jsonl", ({"id": name, "text": "t"} for name in QUERIES))
    inputs = {"corpus": tmp_path / "corpus", "queries": tmp_path / "queries", "qrels": tmp_path}
    given = [("9", "77", "78")]
    assert list(FirstRows.of(inputs).triples(given)) == list(FirstRows(QUERIES, DOCUMENTS).triples(given))
    assert FirstRows.of({"qrels": tmp_path}) is None
