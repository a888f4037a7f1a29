import gzip
import lzma
import random

import pytest

from repro.errors import DataError
from repro.retrieval.datasets.lines import checked_id, lines


def test_windows_line_ends_blank_lines_and_a_byte_order_mark_disappear(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\r\n  \ntwo\nthree")
    assert list(lines(path)) == [(1, "one"), (4, "two"), (5, "three")]


def test_separators_of_unicode_do_not_end_a_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a\u2028b\x85c\x0cd\n", encoding="utf-8")
    assert list(lines(path)) == [(1, "a\u2028b\x85c\x0cd")]


@pytest.mark.parametrize(("name", "opener"), [("a.gz", gzip.open), ("a.xz", lzma.open)])
def test_packed_files_are_unpacked_and_a_cut_one_is_refused(tmp_path, name, opener):
    path = tmp_path / name
    noise = random.Random(1)
    text = "".join(f"{noise.random()}\n" for _ in range(2000))
    with opener(path, "wt") as file:
        file.write(text)
    assert [line for _, line in lines(path)] == text.splitlines()
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="damaged or cut off"):
        list(lines(path))


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
def test_a_file_that_only_claims_to_be_packed_is_refused(tmp_path, name):
    (tmp_path / name).write_text("plain text")
    with pytest.raises(DataError, match="damaged or cut off"):
        list(lines(tmp_path / name))


def test_bytes_that_are_no_text_are_named_with_line_and_position(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nab\xe9c\n")
    with pytest.raises(DataError, match=r"a\.txt:2: byte 3 of the line \(0xe9\) is not UTF-8"):
        list(lines(path))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b" \r\n"])
def test_a_file_with_nothing_in_it_is_refused(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match="is empty"):
        list(lines(tmp_path / "a.txt"))


def test_a_missing_file_and_a_folder_are_refused_in_one_sentence(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            list(lines(path))


@pytest.mark.parametrize(
    "value",
    [None, 7, "", "a b", "a\tb", "a\n", "a\xa0b", "a\u2028b", " a", "d\x00x", "\x1b[1m", "d\x85x", "\ufeffd"],
)
def test_an_id_that_a_run_file_cannot_hold_is_refused(tmp_path, value):
    with pytest.raises(DataError, match="the _id"):
        checked_id(value, "_id", tmp_path, 1)


def test_unusual_ids_of_real_collections_pass(tmp_path):
    for id in ("<dbpedia:Animalia_(book)>", "c67482ba-2019-04-18T13:32:05Z-00000-000", "Ü_1", "0"):
        assert checked_id(id, "_id", tmp_path, 1) == id
