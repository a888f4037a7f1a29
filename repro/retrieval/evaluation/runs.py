"""Reads run files. Errors name the line, e.g. ``my.run:7: 5 columns``.

A TREC run is ranked by its scores, an MS MARCO run (``qid TAB pid TAB rank``) by its ranks.
"""

import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedIOBase
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, AnyStr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from repro.errors import DataError
from repro.machine.bounded_reading import LONGEST_LINE, csv_table
from repro.retrieval.evaluation import text_lines

TREC, MS_MARCO = "TREC", "MS MARCO"
COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
BLOCK = 1 << 22  # bytes parsed at a time
_PLAIN = bytes([10, *range(33, 127)])
_SEPARATORS = {TREC: " ", MS_MARCO: "\t"}
_COLUMNS = {TREC: COLUMNS, MS_MARCO: ("qid", "docid", "rank")}
LARGEST_RANK = 2**24  # up to here a rank is exact as a float32 score
Run = dict[str, Sequence[tuple[str, float]]]


@dataclass
class RunFile:
    """The content of a run file.

    Attributes:
        rankings: query -> (document, score), best document first. An MS MARCO rank becomes a negative score.
        tags: all distinct tags, in the order of lines.
        contradicted: queries with a higher score at a worse rank -> whether the order is fully reversed.
    """

    rankings: Run
    form: str
    contradicted: dict[str, bool] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)

    @property
    def tag(self) -> str | None:
        return next(iter(self.tags), None)

    def note_ranks(
        self, query: str, ranks: np.ndarray | list[float], scores: np.ndarray | list[float]
    ) -> None:
        """Add the query to ``contradicted`` if a worse rank has a higher score."""
        ranks, scores = np.asarray(ranks, np.float64), np.asarray(scores)
        if not (ranks[1:] > ranks[:-1]).all():
            order = np.argsort(ranks)
            ranks, scores = ranks[order], scores[order]
        narrow_scores = scores.astype(np.float32)
        rises = narrow_scores[1:] > narrow_scores[:-1]
        if rises.any() and (ranks[1:] != ranks[:-1]).all():
            self.contradicted[query] = not (narrow_scores[1:] < narrow_scores[:-1]).any()


class Ranking(Sequence[tuple[str, float]]):
    """One query's (document, score) pairs, best first, created on access to save memory."""

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


def document_ids(ranking: Sequence[tuple[str, float]]) -> list[str]:
    if isinstance(ranking, Ranking):
        return ranking._documents.to_pylist()
    return [document for document, _ in ranking]


def read_run(path: Path) -> Run:
    """Read a run as ``{qid: [(docid, score), …]}``, best document first."""
    return read_run_file(path).rankings


def read_run_file(path: Path, *, strict: bool = True) -> RunFile:
    """Read a run in TREC or MS MARCO format, plain or gzipped. The first line decides the format.

    Unless ``strict``, also read ``{qid: {docid: score}}`` in JSON and ranx's Parquet, and refuse a run
    without documents. The order is trec_eval's: score in float32 descending, then document id descending.
    Leading lines with ``#`` are skipped. Raises DataError ``file:line: reason`` at a malformed or truncated
    line.
    """
    start = b"" if strict else text_lines.first_bytes(path)
    with text_lines.many_objects():
        if start.startswith(b"{"):
            run = run_of_scores(text_lines.read_json(path, "score", _number), "JSON")
        elif start.startswith(b"PAR1"):
            run = run_of_scores(_table(path), "Parquet")
        else:
            run = read_fast(path) or read_lines(path)
    if not (strict or run.rankings):
        raise DataError(f"{path}: it contains no document. Get the file again.")
    return run


def read_fast(path: Path) -> RunFile | None:
    """Read a run with a CSV parser. Returns None for a file that needs ``read_lines``."""
    try:
        with text_lines.open_text(path) as file:
            first_line = file.readline(LONGEST_LINE)
        form = MS_MARCO if "\t" in first_line else TREC
        run = RunFile({}, form)
        with text_lines.open_bytes(path) as packed:
            for query, parts in groupby(_stretches(packed, form, run.tags), key=itemgetter(0)):
                if query in run.rankings:
                    return None  # a query in several places
                documents, scores, ranks = _joined([part[1:] for part in parts])
                if form == TREC:
                    run.note_ranks(query, ranks, scores)
                elif len(np.unique(ranks)) != len(ranks):
                    return None
                run.rankings[query] = _ranking(documents, scores)
    except (OSError, EOFError, zlib.error, ValueError):  # also pyarrow's
        return None
    return run if run.rankings else None


def trec_order(documents: Sequence[str], scores: np.ndarray) -> list[int]:
    """Return indices in trec_eval's order: by score in float32, then id, both descending."""
    keys = list(zip(scores.astype(np.float32).tolist(), documents, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)


def _joined(parts: list[tuple]) -> tuple:
    if len(parts) == 1:
        return parts[0]
    documents, scores, ranks = zip(*parts, strict=True)
    return pa.concat_arrays(documents), np.concatenate(scores), np.concatenate(ranks)


def _ranking(documents, scores: np.ndarray) -> Ranking:
    if len(documents.unique()) != len(documents):
        raise ValueError("a document twice")
    narrow_scores = scores.astype(np.float32)
    if not (narrow_scores[1:] < narrow_scores[:-1]).all():
        order = np.array(trec_order(documents.to_pylist(), scores))
        documents, scores = documents.take(pa.array(order)), scores[order]
    return Ranking(documents, scores)


def _stretches(file: BufferedIOBase, form: str, tags: dict[str, None]) -> Iterator[tuple]:
    for block in _blocks(file, _SEPARATORS[form].encode()):
        queries, documents, scores, ranks, block_tags = _columns(block, form)
        tags |= dict.fromkeys(block_tags)
        codes, names = queries.indices.to_numpy(), queries.dictionary.to_pylist()
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        if len(documents[: starts[1]].unique()) < starts[1]:  # else one repeated line fills the memory
            raise ValueError("a document twice")
        for start, end in pairwise(starts):
            yield names[codes[start]], documents[start:end], scores[start:end], ranks[start:end]


def _blocks(file: BufferedIOBase, separator: bytes) -> Iterator[bytes]:
    remainder = last_line = b""
    while data := file.read(BLOCK):
        if data.translate(None, _PLAIN + separator):
            raise ValueError("not plain ASCII, which this fast reader cannot read")
        lines, end, remainder = (remainder + data).rpartition(b"\n")
        if len(remainder) >= LONGEST_LINE:
            raise ValueError("a line without an end")
        if end:
            last_line = lines[lines.rfind(b"\n") + 1 :]
            yield lines + end
    if remainder:
        fields, before = remainder.split(separator), last_line.split(separator)
        if separator == b" ":
            is_unusual = is_cut_off(fields[-1], before[-1])
        else:
            is_unusual = fields[0] != before[0] or int(fields[-1]) != int(before[-1]) + 1
        if is_unusual:
            raise ValueError("a last line that may be cut off")
        yield remainder


def is_cut_off(tag: AnyStr, tag_before: AnyStr | None) -> bool:
    """Return whether the tag of an unterminated line is an incomplete copy of the tag before it."""
    return bool(tag_before and tag != tag_before and tag_before.startswith(tag))


def _columns(data: bytes, form: str) -> Iterable:
    names = _COLUMNS[form]
    types = {name: pa.float64() if name == "score" else pa.string() for name in names}
    table = csv_table(data, types, _SEPARATORS[form])
    if not pc.all(pc.ascii_is_decimal(table["rank"])).as_py():
        raise ValueError("a rank")
    ranks = table["rank"].cast(pa.float64()).to_numpy()
    scores, bound = -ranks, float(LARGEST_RANK + 1)
    if form == TREC:
        scores, bound = table["score"].to_numpy(), text_lines.SCORE_BOUND
    is_filled = not any(pc.any(pc.equal(table[name], "")).as_py() for name in names if name != "score")
    if not (is_filled and (np.abs(scores) < bound).all()):  # nan is not
        raise ValueError("a score or an empty column")
    queries, documents = table["qid"].combine_chunks(), table["docid"].combine_chunks()
    tags = pc.unique(table["tag"]).to_pylist() if form == TREC else []
    return queries.dictionary_encode(), documents, scores, ranks, tags


_EXPECTED = {
    TREC: f"a TREC run has 6 ({' '.join(COLUMNS)})",
    MS_MARCO: "an MS MARCO run has 3 (qid pid rank), separated by tabs",
}
_EXPECTED[""] = ", ".join(_EXPECTED.values())
AGAIN = "the last line is incomplete (get the file again)"


def ranked(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return (document, score) pairs in trec_eval's order."""
    scores = np.fromiter((score for _, score in pairs), np.float64, len(pairs))
    return [pairs[place] for place in trec_order([document for document, _ in pairs], scores)]


def read_lines(path: Path) -> RunFile:
    lines = _Lines()
    for number, line in text_lines.numbered_lines(path):
        if lines.form or not line.startswith("#"):
            lines.add(line, f"{path}:{number}")
    return lines.run()


class _Lines:
    def __init__(self) -> None:
        self.form = ""
        self.tags: dict[str, None] = {}
        self.last_tag: str | None = None
        self.scores: dict[str, dict[str, float]] = {}
        self.ranks: dict[str, list[float]] = {}  # of TREC's form
        self.places: dict[str, dict[int, None]] = {}  # the ranks of MS MARCO's

    def add(self, line: str, place: str) -> None:
        fields, is_last = text_lines.columns(line, place), not line.endswith("\n")
        has_tabs = len(fields) == 3 and line.count("\t") == 2
        form = TREC if len(fields) == 6 else MS_MARCO if has_tabs else None
        if form is None or self.form not in ("", form):
            reason = AGAIN if is_last and self.form else _EXPECTED[self.form]
            raise DataError(f"{place}: {len(fields)} columns: {reason}")
        self.form = form
        parse = self._trec_line if form == TREC else self._ms_marco_line
        query, document, score = parse(fields, place, is_last=is_last)
        ranking = self.scores.setdefault(query, {})
        if document in ranking:
            raise DataError(f"{place}: document {document!r} is listed twice for query {query!r}")
        ranking[sys.intern(document)] = score

    def run(self) -> RunFile:
        run = RunFile({}, self.form, tags=self.tags)
        for query, ranking in self.scores.items():
            if self.form == TREC:
                run.note_ranks(query, self.ranks[query], list(ranking.values()))
            run.rankings[query] = ranked(list(ranking.items()))
        return run

    def _trec_line(self, fields: list[str], place: str, *, is_last: bool) -> tuple[str, str, float]:
        query, _, document, rank, score, tag = fields
        if not rank.isdecimal():
            raise DataError(f"{place}: the rank {rank!r} is not a whole number")
        if is_last and is_cut_off(tag, self.last_tag):
            raise DataError(f"{place}: the tag {tag!r} is not {self.last_tag!r}: {AGAIN}")
        self.last_tag = tag
        self.tags[tag] = None
        self.ranks.setdefault(query, []).append(float(rank))
        return query, document, text_lines.read_score(score, place)

    def _ms_marco_line(self, fields: list[str], place: str, *, is_last: bool) -> tuple[str, str, float]:
        query, document, text = fields
        if not (text.isdecimal() and len(text) < 9 and int(text) <= LARGEST_RANK):
            reason = f"is not a whole number up to {LARGEST_RANK} ({_EXPECTED[MS_MARCO]})"
            raise DataError(f"{place}: the rank {text!r} {reason}")
        rank, ranks = int(text), self.places.setdefault(query, {})
        if rank in ranks:
            raise DataError(f"{place}: rank {text} is given twice for query {query!r}")
        if is_last and rank not in ({next(reversed(ranks)) + 1} if ranks else {0, 1}):
            reason = f"rank {text} does not follow those before and the line has no end"
            raise DataError(f"{place}: {reason}: {AGAIN}")
        ranks[rank] = None
        return query, document, -float(rank)


def run_of_scores(scores: Mapping[str, Mapping[str, Any]], form: str) -> RunFile:
    """Return a run from query -> document -> score. Raises DataError for a score that is not finite."""
    rankings: Run = {}
    for query, of in scores.items():
        if of:
            pairs = [(document, _number(score, f"query {query!r}")) for document, score in of.items()]
            rankings[query] = ranked(pairs)
    return RunFile(rankings, form)


def _table(path: Path) -> dict[str, dict[str, float]]:
    try:
        table = parquet.read_table(path)
        rows = zip(*(table[name].to_pylist() for name in ("q_id", "doc_id", "score")), strict=True)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise DataError(f"{path}: it is not a Parquet file of q_id, doc_id and score ({reason})") from None
    scores: dict[str, dict[str, float]] = {}
    for query, document, score in rows:
        ranking = scores.setdefault(str(query), {})
        if str(document) in ranking:
            raise DataError(f"{path}: document {str(document)!r} is listed twice for query {str(query)!r}")
        ranking[str(document)] = _number(score, f"{path}: query {query!r}")
    return scores


def _number(value: object, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return text_lines.read_score(repr(value) if is_number else str(value), place)
