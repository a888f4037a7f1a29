import gzip
import json

import pytest

from repro.errors import DataError
from repro.plugins.yours.runs import read_given_qrels

QRELS = {"1": {"a": 2, "b": 0}, "2": {"a": -1}}
TREC = "1 0 a 2\n1 0 b 0\n2 0 a -1\n"
BEIR = "1\ta\t2\n1\tb\t0\n2\ta\t-1\n"
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.mark.parametrize("content", [TREC, TREC.replace(" ", "\t"), BEIR, HEADER + BEIR, TREC + "1 0 a 2\n"])
def test_columns_of_trec_and_of_beir_are_read_plain_and_gzipped(tmp_path, content):
    for name, data in (("qrels", content.encode()), ("qrels.gz", gzip.compress(content.encode()))):
        (tmp_path / name).write_bytes(data)
        assert read_given_qrels(tmp_path / name) == QRELS


def test_what_ranx_saves_is_read(tmp_path):
    from ranx import Qrels

    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    assert read_given_qrels(tmp_path / "qrels.json") == QRELS
    Qrels({"1": {"a": 2, "b": 1}}).save(tmp_path / "ranx.json", kind="json")
    assert read_given_qrels(tmp_path / "ranx.json") == {"1": {"a": 2, "b": 1}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", ": is empty"),
        (HEADER, ": has a header but no judgements"),
        ("1 0 a 1\n1 0 a 2\n", ":2: judges 'a' for query '1' as 2, a line before as 1"),
        ("1 0 a 1.5\n", ":1: the grade '1.5' is not an integer"),
        ("1 0 a 1\n1 0 b", ":2: has 3 columns instead of 4"),
        ("1 Q0 a 1 0.5 t\n", ":1: it has 6 columns, as of a run; judgements are read in TREC's form"),
        ("1,a,1\n", ":1: it has 1 columns; judgements are read"),
        ("1 0 a 0\n1 0 b -1\n", ": none of the 2 judgements has a grade above 0: nothing is relevant"),
        ('{"1": {"a": 1.5}}', ": query '1': the grade 1.5 is no whole number"),
        ('{"1": {"a": true}}', ": query '1': the grade True is no whole number"),
        ('{"1": {"a": 1, "a": 2}}', ": it is no sound JSON file (an id is given twice)"),
        (b"PK\x03\x04", ": it is a ZIP archive; unpack it"),
        ("1 0 a 1\n".encode("utf-16"), ": it is UTF-16 text; write it as UTF-8"),
    ],
)
def test_what_is_no_file_of_judgements_is_refused_with_its_line(tmp_path, content, reason):
    path = tmp_path / "qrels"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read_given_qrels(path)
    assert str(caught.value).startswith(f"{path}{reason}")


def test_a_missing_file_is_refused_with_the_forms_that_are_read(tmp_path):
    with pytest.raises(DataError, match=r"none: no such file; judgements are read in TREC's form"):
        read_given_qrels(tmp_path / "none")
