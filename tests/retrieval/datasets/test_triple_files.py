import gzip
import lzma

import pytest

from repro.errors import DataError
from repro.retrieval.datasets import negative_files
from repro.retrieval.datasets.negative_files import chunks, triples


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


@pytest.mark.parametrize(
    "odd",
    [
        "\ufeff1\t2\t3\n",
        "1 2  3\n",
        "1\t2\t3\r\n",
        "\n",
        " \n",
        "é\tü\t3\n",
        '"1\t"2"\t3\n',
        "1\t2\n",
        "1\t\t3\n",
        "1\t2\t3\t4\n",
        "1\t2\x1c4\t3\n",
        "1\t2\t\ufeff3\n",
        "1\t2\t3\x00\n",
        "\t1\t2\t3\n",
        "1\t2\t\n",
        "\xa0\n",
    ],
)
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
