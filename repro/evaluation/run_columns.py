"""Reads a TREC run without a fault as columns, some megabytes at a time, without an object for each line."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from repro.evaluation.text_lines import LARGEST_SCORE, open_text
from repro.machine.bounded_reading import LONGEST_LINE

COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
BLOCK = 1 << 22  # bytes of the file that are parsed at a time
_PLAIN = bytes([10, *range(32, 127)])  # one space between columns, and nothing that only looks like one
Run = dict[str, Sequence[tuple[str, float]]]


class Ranking(Sequence[tuple[str, float]]):
    """The (document, score) pairs of one query, best first, which are made when they are looked at.

    Args:
        documents: K ids, a pyarrow array.
        scores: (K,) float64.
    """

    __slots__ = ("_documents", "_scores")

    def __init__(self, documents, scores: np.ndarray):
        self._documents, self._scores = documents, scores

    def __len__(self):
        return len(self._documents)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return list(zip(self._documents[place].to_pylist(), self._scores[place].tolist(), strict=True))
        return self._documents[place].as_py(), float(self._scores[place])

    def __iter__(self):
        return iter(self[:])

    def __eq__(self, other):
        return self[:] == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return repr(self[:])


class _UnusualFileError(ValueError):
    """A file that is left to the reader of lines."""


def read_fast(path: Path) -> Run | None:
    """Read a TREC run with a CSV parser, as ``read_run`` returns it; None for a file with anything unusual.

    ``read_lines`` then says what is wrong and where, or that nothing is.
    """
    run: Run = {}
    try:
        with open_text(path) as file:
            for query, parts in groupby(_stretches(file.buffer), key=itemgetter(0)):
                if query in run:
                    return None  # a query in several places
                run[query] = _ranking(list(_distinct(parts)))
    except (OSError, EOFError, zlib.error, ValueError):  # pyarrow's errors are among these
        return None
    return run or None


def _distinct(parts: Iterable[tuple]) -> Iterator[tuple]:
    """Documents and scores of a query's parts; each but the first is looked at by itself.

    So a file that says one thing over and over is not read to its end.
    """
    for place, (_, documents, scores) in enumerate(parts):
        if place and len(documents.unique()) != len(documents):
            raise _UnusualFileError("a document twice")
        yield documents, scores


def trec_order(documents: Sequence[str], scores: np.ndarray) -> list[int]:
    """Places of documents by score in float32, then by id, both descending: trec_eval's order."""
    keys = list(zip(scores.astype(np.float32).tolist(), documents, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)


def _ranking(parts: list[tuple]) -> Ranking:
    """The ranking of a query whose lines lie in one block, or in several."""
    import pyarrow as pa

    documents, scores = parts[0]
    if len(parts) > 1:
        documents = pa.concat_arrays([documents for documents, _ in parts])
        scores = np.concatenate([scores for _, scores in parts])
    if len(documents.unique()) != len(documents):
        raise _UnusualFileError("a document twice")
    narrow_scores = scores.astype(np.float32)
    if not (narrow_scores[1:] < narrow_scores[:-1]).all():
        order = np.array(trec_order(documents.to_pylist(), scores))
        documents, scores = documents.take(pa.array(order)), scores[order]
    return Ranking(documents, scores)


def _stretches(file: BinaryIO) -> Iterator[tuple]:
    """Query, documents (pyarrow array) and scores (numpy) of lines that stand together in a block."""
    for block in _blocks(file):
        queries, documents, scores = _columns(block)
        codes, names = queries.indices.to_numpy(), queries.dictionary.to_pylist()
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        for start, end in pairwise(starts):
            yield names[codes[start]], documents[start:end], scores[start:end]


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The whole lines of about BLOCK bytes at a time. Raises for a byte that is not plain."""
    remainder = b""
    while data := file.read(BLOCK):
        if data.translate(None, _PLAIN):
            raise _UnusualFileError("white space, control characters or letters beyond ASCII")
        lines, end, remainder = (remainder + data).rpartition(b"\n")
        if len(remainder) >= LONGEST_LINE:
            raise _UnusualFileError("a line without an end")
        if end:
            yield lines + end
    if remainder:
        yield remainder


def _columns(data: bytes) -> Iterable:
    """Queries (dictionary array), documents (array) and scores (numpy). Raises for a value out of place."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    types = {**dict.fromkeys(COLUMNS, pa.string()), "score": pa.float64()}
    read_options = csv.ReadOptions(column_names=COLUMNS)
    parse_options = csv.ParseOptions(
        delimiter=" ", quote_char=False, double_quote=False, ignore_empty_lines=False
    )
    convert_options = csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False)
    table = csv.read_csv(pa.BufferReader(data), read_options, parse_options, convert_options)
    scores = table["score"].to_numpy()
    is_regular = (
        (np.abs(scores) <= LARGEST_SCORE).all()  # nan is not
        and pc.all(pc.ascii_is_decimal(table["rank"])).as_py()
        and not any(pc.any(pc.equal(table[name], "")).as_py() for name in COLUMNS if name != "score")
    )
    if not is_regular:
        raise _UnusualFileError("a score, a rank or an empty column")
    return table["qid"].combine_chunks().dictionary_encode(), table["docid"].combine_chunks(), scores
