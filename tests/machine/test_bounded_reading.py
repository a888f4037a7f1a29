"""Files of one line without an end are refused in bounded memory."""

import gzip
import io
import lzma
import random
import zipfile
from functools import partial

import pytest

from repro.errors import DataError
from repro.machine.bounded_reading import LONGEST_LINE, as_file, checked_id, lines, whole_lines
from repro.retrieval.datasets.negative_files import chunks
from repro.retrieval.datasets.record_files import json_rows
from repro.retrieval.evaluation import runs as run_columns
from repro.retrieval.evaluation.answers import read_answers
from repro.retrieval.evaluation.runs import BLOCK, read_run, read_run_file
from repro.retrieval.evaluation.text_lines import read_qrels
from tests.bounded_memory import peak_growth

SIZE = 300 * 2**20
READERS = {
    "run": read_run,
    "given run": partial(read_run_file, strict=False),
    "judgements": read_qrels,
    "answers": read_answers,
    "texts": lambda path: list(lines(path)),
    "documents": lambda path: list(json_rows(path)),
    "triples": lambda path: list(chunks(path)),
}


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endless")
    with gzip.open(folder / "line.gz", "wb", compresslevel=1) as file:
        for _ in range(SIZE // 2**20):
            file.write(b"a" * 2**20)
    with (folder / "line.txt").open("wb") as file:
        file.truncate(SIZE)
    return folder


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("packing", ["txt", "gz"])
def test_a_line_without_an_end_is_refused_with_its_number_and_not_read(endless, name, packing):
    path = endless / f"line.{packing}"

    def read():
        with pytest.raises(DataError, match=rf"^{path}:1: the line is longer than 16,777,215 characters"):
            READERS[name](path)

    assert peak_growth(read) < 2e8


def test_a_line_without_an_end_in_the_middle_has_its_number(tmp_path):
    path = tmp_path / "x.xz"
    path.write_bytes(lzma.compress(b"one\ntwo\n" + b"3" * LONGEST_LINE + b"\nfour\n", preset=0))
    with pytest.raises(DataError, match=rf"^{path}:3: the line is longer"):
        list(lines(path))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("inside", b"one\n" + b"2" * LONGEST_LINE)
    with pytest.raises(DataError, match=r"x.zip/inside:2: the line is longer"):
        list(lines(tmp_path / "x.zip/inside"))


def test_the_longest_line_that_may_be_is_read(tmp_path):
    path = tmp_path / "long"
    path.write_text("a" * (LONGEST_LINE - 2) + "\nb")
    with path.open() as file:
        assert [len(line) for line in whole_lines(file, path)] == [LONGEST_LINE - 1, 1]


def test_a_run_that_says_one_thing_over_and_over_is_not_read_to_its_end(tmp_path, monkeypatch):
    path = tmp_path / "run"
    path.write_bytes(b"1 Q0 d 1 1.0 t\n" * (4 * BLOCK // 15))
    blocks, parse = [], run_columns._columns
    monkeypatch.setattr(run_columns, "_columns", lambda *block: blocks.append(block) or parse(*block))
    with pytest.raises(DataError, match=r"run:2: document 'd' is listed twice for query '1'"):
        read_run(path)
    assert len(blocks) == 1


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


def test_an_empty_pipe_is_named(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(DataError, match=r"^stdin is empty\. Check the command before the pipe"):
        as_file("-")
