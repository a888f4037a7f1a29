import gzip

import pytest

from repro.errors import DataError
from repro.retrieval.evaluation.text_lines import numbered_lines, read_qrels


def test_lines_are_counted_from_one_in_plain_and_zipped_files(tmp_path):
    (tmp_path / "plain").write_text("a\nb\n")
    (tmp_path / "zipped").write_bytes(gzip.compress(b"a\nb\n"))
    for name in ("plain", "zipped"):
        assert list(numbered_lines(tmp_path / name)) == [(1, "a\n"), (2, "b\n")]


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="absent: no such file"):
        list(numbered_lines(tmp_path / "absent"))


def test_spaces_and_tabs_separate_columns_and_any_iteration_is_read(tmp_path):
    path = tmp_path / "qrels.trec"
    path.write_text("1 0 a 2\n1\tQ0\tb\t0\n2 0 a -1\n")
    assert read_qrels(path) == {"1": {"a": 2, "b": 0}, "2": {"a": -1}}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 a 1", "3 columns: TREC qrels have 4"),
        ("1 0 b 1.0", "the grade '1.0' is not a whole number"),
        ("1 0 a 0", "document 'a' is judged twice for query '1'"),
        ("", "0 columns"),
        ("1 0 b\x00 1", r"'b\\x00' has a control character in it"),
    ],
)
def test_a_foreign_line_is_refused_with_its_number(tmp_path, line, reason):
    path = tmp_path / "qrels.trec"
    path.write_text(f"1 0 a 2\n{line}\n")
    with pytest.raises(DataError, match=f"qrels.trec:2: {reason}"):
        read_qrels(path)


def test_a_byte_order_mark_belongs_to_no_query(tmp_path):
    (tmp_path / "qrels").write_bytes(b"\xef\xbb\xbf1 0 a 2\n")
    assert read_qrels(tmp_path / "qrels") == {"1": {"a": 2}}


def test_public_judgements_are_read_whole(real_data):
    dl19 = read_qrels(real_data / "qrels" / "qrels.dl19-passage.txt")
    assert len(dl19) == 43
    assert sum(map(len, dl19.values())) == 9260
    assert len(read_qrels(real_data / "qrels" / "qrels.msmarco-passage.dev-subset.txt")) == 6980
