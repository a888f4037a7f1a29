"""Reads training triples (query, relevant and irrelevant passage) in the form of MS MARCO's qidpidtriples."""

import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from repro.errors import DataError
from repro.machine.bounded_reading import whole_lines
from repro.retrieval.datasets.lines import checked_id, lines, malformed, open_unpacked, texts

Triple = tuple[str, str, str]
COLUMNS = ("query", "positive", "negative")
CHUNK = 1 << 25  # bytes of text that are parsed together, some 1.4 million rows
PIECE = 100_000  # rows of a piece
_PLAIN = bytes([9, 10, *range(33, 127)])  # one tab between columns, and nothing that only looks like one


def triples(path: Path) -> Iterator[Triple]:
    """Rows of three ids parted by white space. Raises DataError, with file and line, for any other row."""
    return _rows(lines(path), path)


def _rows(numbered_lines: Iterable[tuple[int, str]], path: Path) -> Iterator[Triple]:
    for number, line in numbered_lines:
        fields = line.split()
        if len(fields) != 3:
            raise malformed(path, number, f"has {len(fields)} columns instead of 3: three ids")
        if not "".join(fields).isalnum():  # nearly all of 398 million rows are
            fields = [checked_id(field, "id", path, number) for field in fields]
        yield fields[0], fields[1], fields[2]


class Chunk(NamedTuple):
    """Whole lines of a file that follow each other; ``first`` is the number of the first one."""

    path: Path
    first: int
    text: bytes

    def table(self):
        """The rows as a pyarrow table of ``COLUMNS``. Raises DataError as ``triples`` does."""
        if (table := self._parsed_table()) is not None:
            return table
        numbered_lines = texts(io.BytesIO(self.text), self.path, first=self.first)
        return Piece(self.first, list(_rows(numbered_lines, self.path))).table()

    def _parsed_table(self):
        """The rows as a CSV parser reads them; None where anything is unusual."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv

        if self.text.translate(None, _PLAIN):
            return None
        read_options = csv.ReadOptions(column_names=COLUMNS, use_threads=False, block_size=CHUNK + (1 << 20))
        parse_options = csv.ParseOptions(
            delimiter="\t", quote_char=False, double_quote=False, ignore_empty_lines=False
        )
        types = dict.fromkeys(COLUMNS, pa.string())
        convert_options = csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False)
        try:
            table = csv.read_csv(pa.BufferReader(self.text), read_options, parse_options, convert_options)
        except pa.ArrowInvalid:
            return None
        return None if any(pc.any(pc.equal(table[name], "")).as_py() for name in COLUMNS) else table


class Piece(NamedTuple):
    """Rows that are in memory already, of which ``first`` is the number of the first one."""

    first: int
    rows: list[Triple]

    def table(self):
        """The rows as a pyarrow table of ``COLUMNS``."""
        import pyarrow as pa

        columns = list(zip(*self.rows, strict=True)) or [()] * len(COLUMNS)
        return pa.table([pa.array(column, pa.string()) for column in columns], names=COLUMNS)


def pieces(rows: Iterable[Triple]) -> Iterator[Piece]:
    """Rows as pieces of 100,000."""
    iterator, first = iter(rows), 1
    while piece := list(itertools.islice(iterator, PIECE)):
        yield Piece(first, piece)
        first += len(piece)


def chunks(path: Path) -> Iterator[Chunk]:
    """The lines of a file, plain or packed, ``CHUNK`` bytes at a time; DataError as of ``triples``."""
    first, empty = 1, True
    with open_unpacked(path) as file:
        while text := file.read(CHUNK):
            text += next(whole_lines(file, path, first=first + text.count(b"\n")), b"")
            empty = False
            yield Chunk(path, first, text)
            first += text.count(b"\n")
    if empty:
        raise DataError(f"{path}: is empty")
