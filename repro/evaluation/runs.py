"""Reads run files strictly: whatever is doubtful is refused with its line, nothing is guessed.

A TREC run (``qid Q0 docid rank score tag``) is ranked by its scores, an MS MARCO run (``qid TAB pid TAB
rank``) by its ranks.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.evaluation.run_columns import COLUMNS, Run, read_fast, trec_order
from repro.evaluation.text_lines import columns, many_objects, numbered_lines, read_score

TREC, MS_MARCO = "TREC", "MS MARCO"
_SIX = f"a TREC run has 6 ({' '.join(COLUMNS)})"
_EXPECTED = {TREC: _SIX, MS_MARCO: "an MS MARCO run has 3 (qid pid rank), parted by tabs"}
_EXPECTED[None] = f"{_SIX}, an MS MARCO run 3 (qid pid rank) parted by tabs"
AGAIN = "the last line looks cut off; get the file again"
_LARGEST_RANK = 2**24  # up to here a rank is exact as a float32 score


def read_run(path: Path) -> Run:
    """Read a TREC run, plain or gzipped, as ``{qid: [(docid, score), …]}``, best document first.

    A file without a fault is kept as columns, some 20 bytes a line, whose pairs are made when looked at.
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
    scores = np.fromiter((score for _, score in pairs), np.float64, len(pairs))
    return [pairs[place] for place in trec_order([document for document, _ in pairs], scores)]


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
    run, is_foreign = RunLines(form), form is None
    ranks: dict[str, set[int]] = {}
    documents: dict[str, str] = {}  # one string per document, not one per line
    for number, line in numbered_lines(path):
        if run.form is None and line.startswith("#"):
            continue
        place = f"{path}:{number}"
        fields = columns(line, place)
        is_cut_off = is_foreign and not line.endswith("\n")
        if _form(line, fields) not in ((run.form,) if run.form else (TREC, MS_MARCO)):
            raise DataError(f"{place}: {len(fields)} columns; {AGAIN if is_cut_off else _EXPECTED[run.form]}")
        run.form = _form(line, fields)
        if run.form == TREC:
            qid, document, score = _parse_trec(fields, place)
            _note_tag(run, fields[5], place, is_cut_off=is_cut_off)
        else:
            qid, document, score = _parse_ms_marco(fields, place, ranks, is_cut_off=is_cut_off)
        ranking = run.scores.setdefault(qid, {})
        if document in ranking:
            raise DataError(f"{place}: document {document!r} is listed twice for query {qid!r}")
        ranking[documents.setdefault(document, document)] = score
    return run


def _form(line: str, fields: list[str]) -> str | None:
    has_tabs = len(fields) == 3 and line.count("\t") == 2
    return TREC if len(fields) == 6 else MS_MARCO if has_tabs else None


def _parse_trec(fields: list[str], place: str) -> tuple[str, str, float]:
    qid, _, document, rank, text, _ = fields
    if not rank.isdecimal():
        raise DataError(f"{place}: the rank {rank!r} is no whole number")
    return qid, document, read_score(text, place)


def _note_tag(run: RunLines, tag: str, place: str, *, is_cut_off: bool) -> None:
    if is_cut_off and run.last_tag not in (None, tag):
        reason = f"the tag {tag!r} is not {run.last_tag!r} and the line has no end"
        raise DataError(f"{place}: {reason}: {AGAIN}")
    run.tag, run.last_tag = run.tag or tag, tag


def _parse_ms_marco(
    fields: list[str], place: str, ranks: dict[str, set[int]], *, is_cut_off: bool
) -> tuple[str, str, float]:
    """Query, document and negative rank of a line, which is added to the ``ranks`` of its query."""
    qid, document, text = fields
    if not (text.isdecimal() and len(text) < 9 and int(text) <= _LARGEST_RANK):
        raise DataError(f"{place}: the rank {text!r} is no whole number up to {_LARGEST_RANK}")
    rank, query_ranks = int(text), ranks.setdefault(qid, set())
    if rank in query_ranks:
        raise DataError(f"{place}: rank {text} is given twice for query {qid!r}")
    if is_cut_off and rank not in ({max(query_ranks) + 1} if query_ranks else {0, 1}):
        raise DataError(f"{place}: rank {text} does not follow those before and the line has no end: {AGAIN}")
    query_ranks.add(rank)
    return qid, document, -float(rank)
