"""Reads run files strictly: whatever is doubtful is refused with its line, nothing is guessed.

A TREC run (``qid Q0 docid rank score tag``) is ranked by its scores, an MS MARCO run (``qid TAB pid TAB
rank``) by its ranks.
"""

import zlib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.evaluation.text_lines import (
    LARGEST_SCORE,
    columns,
    many_objects,
    numbered_lines,
    opened,
    read_score,
)

TREC, MS_MARCO = "TREC", "MS MARCO"
Run = dict[str, list[tuple[str, float]]]

_COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")
_SIX = f"a TREC run has 6 ({' '.join(_COLUMNS)})"
_EXPECTED = {TREC: _SIX, MS_MARCO: "an MS MARCO run has 3 (qid pid rank), parted by tabs"}
_EXPECTED[None] = f"{_SIX}, an MS MARCO run 3 (qid pid rank) parted by tabs"
AGAIN = "the last line looks cut off; get the file again"
_PLAIN = bytes([10, *range(32, 127)])  # one space between columns, and nothing that only looks like one
_LARGEST_RANK = 2**24  # up to here a rank is exact as a float32 score


def read_run(path: Path) -> Run:
    """Read a TREC run, plain or gzipped, as ``{qid: [(docid, score), …]}``, best document first.

    The order is trec_eval's: score in float32 descending, then document id descending; ranks must be whole
    numbers but decide nothing, so files which count from 0 and from 1 are read alike. Tags may differ.
    Raises DataError ``file:line: reason`` at the first line that is not part of such a file.
    """
    with many_objects():
        run = read_fast(path)
        if run is None:
            scores = read_lines(path, TREC).scores
            run = {qid: ranked(list(ranking.items())) for qid, ranking in scores.items()}
        return run


def ranked(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Documents by score in float32, then by id, both descending: trec_eval's order."""
    narrow = np.fromiter((score for _, score in pairs), np.float32, len(pairs))
    order = sorted(zip(narrow.tolist(), pairs, strict=True), reverse=True)  # pairs begin with the id
    return [pair for _, pair in order]


@dataclass
class RunLines:
    """The content of a run file in the order of its lines.

    Attributes:
        form: TREC or MS MARCO; None as long as no line was read.
        tag, last_tag: the first line's and the last line's; None in the MS MARCO form.
        scores: query -> document -> score; an MS MARCO rank is its negative.
    """

    form: str | None
    tag: str | None = None
    last_tag: str | None = None
    scores: dict[str, dict[str, float]] = field(default_factory=dict)


def read_lines(path: Path, form: str | None = None) -> RunLines:
    """Read a run line by line. Raises DataError ``file:line: reason`` at the first line that is at fault.

    Without ``form`` the first line decides between the two forms, an ir_metadata header (lines that begin
    with ``#``) may stand above it, and a last line that looks cut off is refused.
    """
    run, strangers = RunLines(form), form is None
    ranks: dict[str, set[int]] = {}
    documents: dict[str, str] = {}  # one string per document, not one per line
    for number, line in numbered_lines(path):
        if run.form is None and line.startswith("#"):
            continue
        where = f"{path}:{number}"
        fields = columns(line, where)
        cut_off = strangers and not line.endswith("\n")
        if _form(line, fields) not in ((run.form,) if run.form else (TREC, MS_MARCO)):
            raise DataError(f"{where}: {len(fields)} columns; {AGAIN if cut_off else _EXPECTED[run.form]}")
        run.form = _form(line, fields)
        if run.form == TREC:
            qid, document, score = _trec(fields, where)
            _note_tag(run, fields[5], where, cut_off=cut_off)
        else:
            qid, document, score = _ms_marco(fields, where, ranks, cut_off=cut_off)
        ranking = run.scores.setdefault(qid, {})
        if document in ranking:
            raise DataError(f"{where}: document {document!r} is listed twice for query {qid!r}")
        ranking[documents.setdefault(document, document)] = score
    return run


def _form(line: str, fields: list[str]) -> str | None:
    tabbed = len(fields) == 3 and line.count("\t") == 2
    return TREC if len(fields) == 6 else MS_MARCO if tabbed else None


def _trec(fields: list[str], where: str) -> tuple[str, str, float]:
    qid, _, document, rank, text, _ = fields
    if not rank.isdecimal():
        raise DataError(f"{where}: the rank {rank!r} is no whole number")
    return qid, document, read_score(text, where)


def _note_tag(run: RunLines, tag: str, where: str, *, cut_off: bool) -> None:
    if cut_off and run.last_tag not in (None, tag):
        reason = f"the tag {tag!r} is not {run.last_tag!r} and the line has no end"
        raise DataError(f"{where}: {reason}: {AGAIN}")
    run.tag, run.last_tag = run.tag or tag, tag


def _ms_marco(
    fields: list[str], where: str, ranks: dict[str, set[int]], *, cut_off: bool
) -> tuple[str, str, float]:
    """Query, document and negative rank of a line, which is added to the ``ranks`` of its query."""
    qid, document, text = fields
    if not (text.isdecimal() and len(text) < 9 and int(text) <= _LARGEST_RANK):
        raise DataError(f"{where}: the rank {text!r} is no whole number up to {_LARGEST_RANK}")
    rank, before = int(text), ranks.setdefault(qid, set())
    if rank in before:
        raise DataError(f"{where}: rank {text} is given twice for query {qid!r}")
    if cut_off and rank not in ({max(before) + 1} if before else {0, 1}):
        raise DataError(f"{where}: rank {text} does not follow those before and the line has no end: {AGAIN}")
    before.add(rank)
    return qid, document, -float(rank)


def read_fast(path: Path) -> Run | None:
    """Read a TREC run with a CSV parser, as ``read_run`` returns it; None for a file with anything unusual.

    ``read_lines`` then says what is wrong and where, or that nothing is.
    """
    import pyarrow as pa

    try:
        with opened(path) as file:
            data = file.buffer.read()
        if not data or data.translate(None, _PLAIN):
            return None
        columns = _columns(data)
    except (OSError, EOFError, zlib.error, pa.ArrowInvalid):
        return None
    if columns is None:
        return None
    queries, documents, scores = columns
    narrow = scores.astype(np.float32)
    falls = np.append(narrow[1:] < narrow[:-1], True)  # (N,): whether the next line is below this one
    codes = queries.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    names, run = queries.dictionary.to_pylist(), {}
    if len(starts) > len(names) + 1:
        return None  # a query in several places
    for start, end in pairwise(starts):
        listed = documents[start:end].to_pylist()
        if len(set(listed)) != len(listed):
            return None  # a document twice
        pairs = list(zip(listed, scores[start:end].tolist(), strict=True))
        run[names[codes[start]]] = pairs if falls[start : end - 1].all() else ranked(pairs)
    return run


def _columns(data: bytes):
    """Queries (dictionary array), documents (array) and scores (numpy); None for a value out of place."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    types = {**dict.fromkeys(_COLUMNS, pa.string()), "score": pa.float64()}
    read = csv.ReadOptions(column_names=_COLUMNS)
    parse = csv.ParseOptions(delimiter=" ", quote_char=False, double_quote=False, ignore_empty_lines=False)
    convert = csv.ConvertOptions(column_types=types, null_values=[], strings_can_be_null=False)
    table = csv.read_csv(pa.BufferReader(data), read, parse, convert)
    scores = table["score"].to_numpy()
    sound = (
        (np.abs(scores) <= LARGEST_SCORE).all()  # nan is not
        and pc.all(pc.ascii_is_decimal(table["rank"])).as_py()
        and not any(pc.any(pc.equal(table[name], "")).as_py() for name in _COLUMNS if name != "score")
    )
    if not sound:
        return None
    return table["qid"].combine_chunks().dictionary_encode(), table["docid"].combine_chunks(), scores
