"""Files of one line without an end are refused in bounded memory."""

import gzip
import lzma
import zipfile
from functools import partial

import pytest

from repro.errors import DataError
from repro.machine.bounded_reading import LONGEST_LINE, whole_lines
from repro.retrieval.datasets.lines import lines
from repro.retrieval.datasets.negative_files import chunks
from repro.retrieval.datasets.record_files import json_rows
from repro.retrieval.evaluation import runs as run_columns
from repro.retrieval.evaluation.answers import read_answers
from repro.retrieval.evaluation.runs import BLOCK, read_run, read_run_file
from repro.retrieval.evaluation.text_lines import read_qrels
from tests.bounded_memory import peak_growth

SIZE = 300 * 2**20  # of the only line
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
    """Files of one line, by the way that they are packed."""
    folder = tmp_path_factory.mktemp("endless")
    with gzip.open(folder / "line.gz", "wb", compresslevel=1) as file:
        for _ in range(SIZE // 2**20):
            file.write(b"a" * 2**20)
    with (folder / "line.txt").open("wb") as file:
        file.truncate(SIZE)  # zeros
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
    assert len(blocks) == 2
