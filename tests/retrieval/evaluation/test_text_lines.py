import gzip

import pytest

from repro.errors import DataError
from repro.retrieval.evaluation.text_lines import numbered_lines


def test_lines_are_counted_from_one_in_plain_and_zipped_files(tmp_path):
    (tmp_path / "plain").write_text("a\nb\n")
    (tmp_path / "zipped").write_bytes(gzip.compress(b"a\nb\n"))
    for name in ("plain", "zipped"):
        assert list(numbered_lines(tmp_path / name)) == [(1, "a\n"), (2, "b\n")]


def test_a_zipped_file_cut_off_is_named_with_its_line(tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress("".join(f"line {i * 7919 % 997}\n" for i in range(5000)).encode())[:-500])
    with pytest.raises(DataError, match=r"run.gz:\d+: damaged gzip file"):
        list(numbered_lines(path))


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path):
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError, match="latin:1: not UTF-8 text"):
        list(numbered_lines(path))


def test_a_missing_file_is_a_sentence(tmp_path):
    with pytest.raises(DataError, match="absent: no such file"):
        list(numbered_lines(tmp_path / "absent"))
