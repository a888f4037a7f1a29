import json
import random

import pytest

from repro.errors import DataError
from repro.retrieval.datasets.record_files import queries, split_of
from repro.retrieval.datasets.records import Query


def _write(path, content):
    path.write_bytes(content.encode())
    return path


def test_trec_topics_lose_the_white_space_around_their_text(tmp_path):
    path = _write(tmp_path / "t.txt", "2\t Androgen receptor define\r\n1\twhat is é?  \n")
    assert list(queries(path, "trec")) == [Query("2", "Androgen receptor define"), Query("1", "what is é?")]


def test_beir_queries_ignore_metadata(tmp_path):
    row = {"_id": "q", "text": " x ", "metadata": {"query": "no"}}
    assert list(queries(_write(tmp_path / "q.jsonl", json.dumps(row)), "beir")) == [Query("q", "x")]


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


MALFORMED = {
    "no tab": ("trec", "2 what", "has 1 columns instead of 2"),
    "two tabs": ("trec", "2\twhat\tmore", "has 3 columns instead of 2"),
    "no id": ("trec", "\twhat", "the query id is ''"),
    "no text": ("trec", "2\t  ", "query '2' has no text"),
    "an id again": ("trec", "1\tagain", "the query id '1' was on a line before"),
    "no list": ("answers", "who\tAnn", "not a list of strings"),
    "a list without end": ("answers", "who\t['Ann'", "not a list of strings"),
    "an empty list": ("answers", "who\t[]", "not a list with something in it"),
    "a dictionary": ("answers", "who\t{'a': 1}", "not a list with something in it"),
    "a number": ("answers", "who\t[1]", "an answer is not a string"),
    "an empty answer": ("answers", "who\t['Ann', ' ']", "an answer is not a string"),
    "code": ("answers", "who\t__import__('os').listdir()", "not a list of strings"),
    "brackets without end": ("answers", "who\t" + "[" * 5000, "not a list of strings"),
}


@pytest.mark.parametrize(("format", "row", "reason"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_line_is_refused_with_its_number_and_reason(tmp_path, format, row, reason):
    good = "1\tgood\n" if format == "trec" else "good\t['yes']\n"
    path = _write(tmp_path / "t.txt", good + row + "\n")
    with pytest.raises(DataError, match=rf"t\.txt:2: .*{reason}"):
        list(queries(path, format))


def test_the_split_is_what_its_judgements_are_about_in_the_order_of_the_queries(tmp_path):
    every = [Query("1", "a"), Query("2", "b"), Query("3", "c")]
    assert split_of(iter(every), {"3", "1"}, tmp_path, tmp_path) == [every[0], every[2]]


def test_a_judged_query_without_text_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"qrels: judges query '9', which .*topics does not have \(1 such\)"):
        split_of(iter([Query("1", "a")]), {"1", "9"}, tmp_path / "topics", tmp_path / "qrels")


def test_damaged_answers_give_queries_or_a_data_error_but_never_another_error(tmp_path):
    generator = random.Random(3)
    line = 'who sang the song\t"[\'Solange Knowles\', ""Destiny \'s Child"", \'\\u00e9\']"\n'
    for _ in range(300):
        characters = list(line)
        for _ in range(generator.randrange(1, 5)):
            characters[generator.randrange(len(characters))] = chr(generator.randrange(1, 0x2100))
        path = tmp_path / "t.txt"
        path.write_text("".join(characters), encoding="utf-8")
        try:
            found = list(queries(path, "answers"))
        except DataError as error:
            assert str(error).startswith(str(path))
        else:
            assert all(query.text and query.answers for query in found)
