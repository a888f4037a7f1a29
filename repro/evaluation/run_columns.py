"""Reads a TREC run without a fault as columns, some megabytes at a time, without an object for each line."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from repro.evaluation.text_lines import SCORE_BOUND, open_text
from repro.machine.bounded_reading import LONGEST_LINE

TREC, MS_MARCO = "TREC", "MS MARCO"
COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
BLOCK = 1 << 22  # bytes of the file that are parsed at a time
_PLAIN = bytes([10, *range(32, 127)])  # one space between columns, and nothing that only looks like one
Run = dict[str, Sequence[tuple[str, float]]]


@dataclass
class RunFile:
    """What a run file says.

    Attributes:
        rankings: query -> (document, score), best document first; an MS MARCO rank is its negative.
        form: how it is written.
        tag: of the first line; None in a form without one.
        contradicted: the queries in which a score is above one of a better rank, and whether all are.
    """

    rankings: Run
    form: str
    tag: str | None = None
    contradicted: dict[str, bool] = field(default_factory=dict)

    def note_ranks(self, query: str, ranks: np.ndarray, scores: np.ndarray) -> None:
        """Add the query to ``contradicted`` where its ranks, all different, say another order."""
        ranks = np.asarray(ranks, np.float64)
        if not (ranks[1:] > ranks[:-1]).all():
            order = np.argsort(ranks)
            ranks, scores = ranks[order], np.asarray(scores)[order]
        narrow_scores = np.asarray(scores).astype(np.float32)
        rises = narrow_scores[1:] > narrow_scores[:-1]
        if rises.any() and (ranks[1:] != ranks[:-1]).all():
            self.contradicted[query] = not (narrow_scores[1:] < narrow_scores[:-1]).any()


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


def document_ids(ranking: Sequence[tuple[str, float]]) -> list[str]:
    """Return the documents of a ranking, best first."""
    if isinstance(ranking, Ranking):
        return ranking._documents.to_pylist()
    return [document for document, _ in ranking]


class _UnusualFileError(ValueError):
    """A file that is left to the reader of lines."""


def read_fast(path: Path) -> RunFile | None:
    """Read a TREC run with a CSV parser; return None for a file with anything unusual.

    ``read_lines`` then says what is wrong and where, or that nothing is.
    """
    run = RunFile({}, TREC)
    try:
        with open_text(path) as file:
            for query, parts in groupby(_stretches(file.buffer), key=itemgetter(0)):
                if query in run.rankings:
                    return None  # a query in several places
                documents, scores, ranks = _joined(list(_distinct(parts)))
                run.note_ranks(query, ranks, scores)
                run.rankings[query] = _ranking(documents, scores)
        with open_text(path) as file:
            run.tag = file.readline().split()[-1] if run.rankings else None
    except (OSError, EOFError, zlib.error, ValueError):  # pyarrow's errors are among these
        return None
    return run if run.rankings else None


def _distinct(parts: Iterable[tuple]) -> Iterator[tuple]:
    """Documents, scores and ranks of a query's parts; each but the first is looked at by itself.

    So a file that says one thing over and over is not read to its end.
    """
    for place, (_, documents, *numbers) in enumerate(parts):
        if place and len(documents.unique()) != len(documents):
            raise _UnusualFileError("a document twice")
        yield documents, *numbers


def trec_order(documents: Sequence[str], scores: np.ndarray) -> list[int]:
    """Places of documents by score in float32, then by id, both descending: trec_eval's order."""
    keys = list(zip(scores.astype(np.float32).tolist(), documents, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)


def _joined(parts: list[tuple]) -> tuple:
    """The columns of a query whose lines lie in one block, or in several."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    documents, scores, ranks = zip(*parts, strict=True)
    return pa.concat_arrays(documents), np.concatenate(scores), np.concatenate(ranks)


def _ranking(documents, scores: np.ndarray) -> Ranking:
    import pyarrow as pa

    if len(documents.unique()) != len(documents):
        raise _UnusualFileError("a document twice")
    narrow_scores = scores.astype(np.float32)
    if not (narrow_scores[1:] < narrow_scores[:-1]).all():
        order = np.array(trec_order(documents.to_pylist(), scores))
        documents, scores = documents.take(pa.array(order)), scores[order]
    return Ranking(documents, scores)


def _stretches(file: BinaryIO) -> Iterator[tuple]:
    """Query, documents (pyarrow array), scores and ranks (numpy) of lines that stand together in a block."""
    for block in _blocks(file):
        queries, documents, scores, ranks = _columns(block)
        codes, names = queries.indices.to_numpy(), queries.dictionary.to_pylist()
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        for start, end in pairwise(starts):
            yield names[codes[start]], documents[start:end], scores[start:end], ranks[start:end]


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The whole lines of about BLOCK bytes at a time. Raises for a byte that is not plain, or a cut tag."""
    remainder = tag = b""
    while data := file.read(BLOCK):
        if data.translate(None, _PLAIN):
            raise _UnusualFileError("white space, control characters or letters beyond ASCII")
        lines, end, remainder = (remainder + data).rpartition(b"\n")
        if len(remainder) >= LONGEST_LINE:
            raise _UnusualFileError("a line without an end")
        if end:
            tag = lines[lines.rfind(b" ") + 1 :]
            yield lines + end
    if remainder:
        if is_cut_off(remainder[remainder.rfind(b" ") + 1 :], tag):
            raise _UnusualFileError("a last line that is cut off")
        yield remainder


def is_cut_off(tag: str | bytes, previous_tag: str | bytes | None) -> bool:
    """Return whether the tag of a last line without an end is a part of the tag before it."""
    return bool(previous_tag) and tag != previous_tag and previous_tag.startswith(tag)


def _columns(data: bytes) -> Iterable:
    """Queries (dictionary array), documents (array), scores and ranks. Raises for a value out of place."""
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
        (np.abs(scores) < SCORE_BOUND).all()  # nan is not
        and pc.all(pc.ascii_is_decimal(table["rank"])).as_py()
        and not any(pc.any(pc.equal(table[name], "")).as_py() for name in COLUMNS if name != "score")
    )
    if not is_regular:
        raise _UnusualFileError("a score, a rank or an empty column")
    queries, documents = table["qid"].combine_chunks(), table["docid"].combine_chunks()
    return queries.dictionary_encode(), documents, scores, table["rank"].cast(pa.float64()).to_numpy()
