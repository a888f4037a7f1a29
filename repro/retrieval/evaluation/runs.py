"""Reads run files strictly: whatever is doubtful is refused with its line, nothing is guessed.

A TREC run (``qid Q0 docid rank score tag``) is ranked by its scores, an MS MARCO run (``qid TAB pid TAB
rank``) by its ranks.
"""

from pathlib import Path

import numpy as np

from repro.errors import DataError
from repro.retrieval.evaluation.run_columns import (
    COLUMNS,
    LARGEST_RANK,
    MS_MARCO,
    TREC,
    Run,
    RunFile,
    is_cut_off,
    read_fast,
    trec_order,
)
from repro.retrieval.evaluation.text_lines import columns, many_objects, numbered_lines, read_score

_SIX = f"a TREC run has 6 ({' '.join(COLUMNS)})"
_EXPECTED = {TREC: _SIX, MS_MARCO: "an MS MARCO run has 3 (qid pid rank), parted by tabs"}
_EXPECTED[""] = f"{_SIX}, an MS MARCO run 3 (qid pid rank) parted by tabs"
AGAIN = "the last line looks cut off; get the file again"


def read_run(path: Path) -> Run:
    """Read a run as ``{qid: [(docid, score), …]}``, best document first: see ``read_run_file``."""
    return read_run_file(path).rankings


def read_run_file(path: Path) -> RunFile:
    """Read a run in TREC or, as its first line tells, MS MARCO form, plain or gzipped.

    A file without a fault is kept as columns, some 20 bytes a line, whose pairs are made when looked at.
    The order is trec_eval's: score in float32 descending, then document id descending; ranks of a TREC run
    must be whole numbers but decide nothing. Tags may differ; an ir_metadata header (lines that begin with
    ``#``) may stand above the first line.
    Raises DataError ``file:line: reason`` at the first line that is not part of such a file, or is cut off.
    """
    with many_objects():
        return read_fast(path) or read_lines(path)


def ranked(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Documents by score in float32, then by id, both descending: trec_eval's order."""
    scores = np.fromiter((score for _, score in pairs), np.float64, len(pairs))
    return [pairs[place] for place in trec_order([document for document, _ in pairs], scores)]


def read_lines(path: Path) -> RunFile:
    """Read a run line by line, as ``read_run_file`` does."""
    lines = _Lines()
    for number, line in numbered_lines(path):
        if lines.form or not line.startswith("#"):
            lines.add(line, f"{path}:{number}")
    return lines.run()


class _Lines:
    """The content of a run file in the order of its lines, of which the first decides the form."""

    def __init__(self):
        self.form = ""
        self.tag = self.last_tag = None
        self.scores: dict[str, dict[str, float]] = {}
        self.ranks: dict[str, dict | list] = {}
        self.documents: dict[str, str] = {}  # one string per document, not one per line

    def add(self, line: str, place: str) -> None:
        """Add a line. Raises DataError, which begins with the place, for one that is at fault."""
        fields, is_last = columns(line, place), not line.endswith("\n")
        form = _form(line, fields)
        if form is None or self.form not in ("", form):
            reason = AGAIN if is_last and self.form else _EXPECTED[self.form]
            raise DataError(f"{place}: {len(fields)} columns; {reason}")
        self.form = form
        parse = self._trec_line if form == TREC else self._ms_marco_line
        query, document, score = parse(fields, place, is_last=is_last)
        ranking = self.scores.setdefault(query, {})
        if document in ranking:
            raise DataError(f"{place}: document {document!r} is listed twice for query {query!r}")
        ranking[self.documents.setdefault(document, document)] = score

    def run(self) -> RunFile:
        """Return the content as it is ranked."""
        run = RunFile({}, self.form, self.tag)
        for query, ranking in self.scores.items():
            if self.form == TREC:
                run.note_ranks(query, self.ranks[query], list(ranking.values()))
            run.rankings[query] = ranked(list(ranking.items()))
        return run

    def _trec_line(self, fields: list[str], place: str, *, is_last: bool) -> tuple[str, str, float]:
        query, _, document, rank, score, tag = fields
        if not rank.isdecimal():
            raise DataError(f"{place}: the rank {rank!r} is no whole number")
        if is_last and is_cut_off(tag, self.last_tag):
            raise DataError(f"{place}: the tag {tag!r} is not {self.last_tag!r}: {AGAIN}")
        self.tag, self.last_tag = self.tag or tag, tag
        self.ranks.setdefault(query, []).append(float(rank))
        return query, document, read_score(score, place)

    def _ms_marco_line(self, fields: list[str], place: str, *, is_last: bool) -> tuple[str, str, float]:
        """Return query, document and negative rank."""
        query, document, text = fields
        if not (text.isdecimal() and len(text) < 9 and int(text) <= LARGEST_RANK):
            raise DataError(f"{place}: the rank {text!r} is no whole number up to {LARGEST_RANK}")
        rank, ranks = int(text), self.ranks.setdefault(query, {})
        if rank in ranks:
            raise DataError(f"{place}: rank {text} is given twice for query {query!r}")
        if is_last and rank not in ({max(ranks) + 1} if ranks else {0, 1}):
            reason = f"rank {text} does not follow those before and the line has no end"
            raise DataError(f"{place}: {reason}: {AGAIN}")
        ranks[rank] = None
        return query, document, -float(rank)


def _form(line: str, fields: list[str]) -> str | None:
    has_tabs = len(fields) == 3 and line.count("\t") == 2
    return TREC if len(fields) == 6 else MS_MARCO if has_tabs else None
