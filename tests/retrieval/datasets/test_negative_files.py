import gzip
import json
import lzma
import random

import pytest

from repro.errors import DataError
from repro.retrieval.datasets import negative_files
from repro.retrieval.datasets.negative_files import ListedQuery, chunks, read_listed_queries, triples

# The form of sbert.net's file: ids as strings, a cross-encoder's score with each.
SCORED = {
    "qid": "867436",
    "pos": [{"pid": "5238393", "ce-score": 10.5}],
    "neg": {
        "bm25": [{"pid": "9", "ce-score": -3}, {"pid": "5238393", "ce-score": 10.5}],
        "msmarco-MiniLM-L-6-v3": [{"pid": "8", "ce-score": 8.25}, {"pid": "9", "ce-score": -3}],
    },
}
# The form of its namesake on the Hugging Face hub: ids alone, as integers.
PLAIN = {"qid": 571018, "pos": [7349777], "neg": {"bm25": [12, 7349777], "tas-b": [13, 12]}}
ALL = {"margin": None, "per_system": None, "systems": None}


@pytest.fixture
def file(tmp_path):
    def write(*rows, name="negatives.jsonl"):
        path = tmp_path / name
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        with (gzip.open if name.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
            file.write(text)
        return path

    return write


@pytest.mark.parametrize("name", ["n.jsonl", "n.jsonl.gz"])
def test_both_forms_are_read_packed_or_not_and_ids_become_strings(file, name):
    scored, plain = read_listed_queries(file(SCORED, PLAIN, name=name), scored=False)
    assert (scored.query, scored.positives) == ("867436", [("5238393", 10.5)])
    assert list(scored.systems) == ["bm25", "msmarco-MiniLM-L-6-v3"]
    assert scored.systems["bm25"] == [("9", -3), ("5238393", 10.5)]
    assert plain == ListedQuery(
        "571018",
        [("7349777", None)],
        {"bm25": [("12", None), ("7349777", None)], "tas-b": [("13", None), ("12", None)]},
    )


def test_the_margin_is_kept_below_the_lowest_positive_and_may_be_met():
    items = [("a", 2.0), ("b", 2.001), ("c", 9.0), ("d", -1.0)]
    record = ListedQuery("1", [("p", 9.0), ("q", 5.0)], {"s": items})
    assert record.negatives(margin=3.0, per_system=None, systems=None) == ["a", "d"]
    assert record.negatives(margin=0.0, per_system=None, systems=None) == ["a", "b", "d"]


def _by_loops(record, margin, per_system, systems):
    """The rule of BEIR's train_msmarco_v3.py, a list at a time, without what is a positive."""
    found = []
    for system in record.systems:
        if systems is None or system in systems:
            allowed = []
            for passage, score in record.systems[system]:
                close = margin is not None and any(score > lowest - margin for _, lowest in record.positives)
                relevant = any(passage == positive for positive, _ in record.positives)
                if not close and not relevant and passage not in found + allowed:
                    allowed.append(passage)
            found += allowed if per_system is None else allowed[:per_system]
    return found


def test_the_rule_is_the_loops_and_its_invariants_hold_for_random_records():
    draw = random.Random(3)

    def items(count):
        return [(str(draw.randrange(30)), float(draw.randrange(-8, 8))) for _ in range(count)]

    for _ in range(1000):
        systems = {name: items(draw.randrange(12)) for name in draw.sample("abcde", draw.randrange(5))}
        record = ListedQuery("q", items(draw.randrange(1, 4)), systems)
        how = {
            "margin": draw.choice([None, 0.0, 3.0, 2.5]),
            "per_system": draw.choice([None, 1, 3]),
            "systems": draw.choice([None, {"a", "c"}]),
        }
        found = record.negatives(**how)
        assert found == _by_loops(record, **how)
        assert len(set(found)) == len(found) and not set(found) & {p for p, _ in record.positives}
        assert set(found) <= {p for items in systems.values() for p, _ in items}
        wider = record.negatives(**how | {"per_system": None})
        assert set(found) <= set(wider) <= set(record.negatives(**ALL))
        if how["per_system"]:
            assert len(found) <= how["per_system"] * len(systems)


MALFORMED = {
    "{": r"is not JSON",
    "[1]": "is not a JSON object but list",
    '{"pos": [], "neg": {}}': "the qid is None",
    '{"qid": "1 2", "pos": [], "neg": {}}': "the qid '1 2' has white space",
    '{"qid": "1", "neg": {}}': "pos is missing, not a list",
    '{"qid": "1", "pos": "7", "neg": {}}': "pos is str, not a list",
    '{"qid": "1", "pos": [], "neg": {"bm25": {}}}': "neg of 'bm25' is dict, not a list",
    '{"qid": "1", "pos": [{"pid": "7", "ce-score": 1%s}], "neg": {}}' % ("0" * 400): "not a finite number",
    '{"qid": "1", "pos": [{"pid": "7", "ce-score": NaN}], "neg": {}}': "the ce-score of '7' is nan",
    json.dumps(SCORED): "the qid '867436' repeats an earlier one",
}


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_told_with_file_and_number(file, line):
    with pytest.raises(DataError) as caught:
        list(read_listed_queries(file(SCORED, line), scored=False))
    assert "negatives.jsonl:2: " in str(caught.value) and MALFORMED[line] in str(caught.value)


def test_what_has_no_scores_is_refused_where_they_are_needed(file):
    path = file(SCORED, PLAIN)
    reason = r"negatives\.jsonl:2: no margin without a ce-score of passage '7349777'"
    with pytest.raises(DataError, match=reason):
        list(read_listed_queries(path, scored=True))
    half = SCORED | {"qid": "1", "neg": {"bm25": [{"pid": "9", "ce-score": None}]}}
    with pytest.raises(DataError, match=r"the file of sbert\.net has scores"):
        list(read_listed_queries(file(half), scored=True))


def test_a_cut_off_packed_file_is_refused(file):
    path = file(*({**SCORED, "qid": str(n)} for n in range(200)), name="n.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(read_listed_queries(path, scored=False))


def test_rows_of_three_ids_are_read_and_others_refused(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_bytes(b"1\t10\t20\r\n1\t10\t21\r\n")
    assert list(triples(path)) == [("1", "10", "20"), ("1", "10", "21")]
    path.write_bytes(b"1\t10\t20\n1\t10\x00\t20\n")
    with pytest.raises(DataError, match=r"triples\.tsv:2: the id '10\\x00' has a control character"):
        list(triples(path))
    path.write_bytes(b"1\t10\t20\n1\t10\n")
    with pytest.raises(DataError, match=r"triples\.tsv:2: has 2 columns instead of 3"):
        list(triples(path))


@pytest.mark.parametrize("size", [1, 30, 1 << 20])
@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_chunks_have_every_row_once_and_know_their_first_line(tmp_path, monkeypatch, size, packing):
    monkeypatch.setattr(negative_files, "CHUNK", size)
    text = "".join(f"{n % 7}\t{n}\tp{n * 3}\n" for n in range(40)) + "1\t2\t3"
    path = tmp_path / f"triples.tsv{packing}"
    with {"": open, ".gz": gzip.open, ".xz": lzma.open}[packing](path, "wb") as file:
        file.write(text.encode())
    read = list(chunks(path))
    assert b"".join(chunk.text for chunk in read).decode() == text
    assert len(read) == {1: 41, 30: 10}.get(size, 1)
    assert all(text.splitlines()[chunk.first - 1].encode() in chunk.text for chunk in read)
    rows = [tuple(row.values()) for chunk in read for row in chunk.table().to_pylist()]
    assert rows == [tuple(line.split("\t")) for line in text.splitlines()] == list(triples(path))


ODD = ["\ufeff1\t2\t3\n", "1 2  3\n", "1\t2\t3\r\n", "\n", " \n", "é\tü\t3\n", '"1\t"2"\t3\n', "1\t2\n"]
ODD += ["1\t\t3\n", "1\t2\t3\t4\n", "1\t2\x1c4\t3\n", "1\t2\t\ufeff3\n", "1\t2\t3\x00\n", "\t1\t2\t3\n"]
ODD += ["1\t2\t\n", "\xa0\n"]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, 3])
def test_what_is_unusual_is_read_or_refused_as_line_by_line(tmp_path, monkeypatch, odd, place):
    monkeypatch.setattr(negative_files, "CHUNK", 12)
    path, lines = tmp_path / "triples.tsv", [f"1\t{n}\t3\n" for n in range(5)]
    path.write_bytes("".join([*lines[:place], odd, *lines[place:]]).encode())

    def outcome(read) -> list | str:
        try:
            return list(read())
        except DataError as error:
            return str(error)

    in_chunks = outcome(lambda: (tuple(row.values()) for c in chunks(path) for row in c.table().to_pylist()))
    assert in_chunks == outcome(lambda: triples(path))


def test_a_file_that_is_empty_or_cut_off_is_refused(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        list(chunks(path))
    packed = tmp_path / "triples.tsv.gz"
    packed.write_bytes(gzip.compress(b"1\t2\t3\n" * 1000)[:-9])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(chunks(packed))
    with pytest.raises(DataError, match="cannot be read"):
        list(chunks(tmp_path / "other.tsv"))
