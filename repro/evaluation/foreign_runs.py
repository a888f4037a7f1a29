"""Run files of others, read strictly: what is doubtful is refused with its line, nothing is guessed.

Two forms are told apart by the first line: TREC (``qid Q0 docid rank score tag``), whose scores decide, and
MS MARCO (``qid TAB pid TAB rank``), whose ranks decide. An ir_metadata header may stand above the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro.errors import DataError
from repro.evaluation.runs import COLUMNS, Run, _finite
from repro.evaluation.text_lines import numbered_lines

TREC, MS_MARCO = "TREC", "MS MARCO"
AGAIN = "the last line looks cut off; get the file again"
_LARGEST_RANK = 2**24  # up to here a rank is exact as a float32 score
_FORMS_OF_IDS = (re.compile(r"[0-9]+"), re.compile(r"D[0-9]+"))  # passages and documents of MS MARCO


@dataclass(frozen=True)
class ImportedRun:
    """A run as its file gives it.

    Attributes:
        rankings: query -> (document, score) in the order of the file; a rank is a score below zero.
        form: TREC or MS MARCO.
        tag: of the first line; None in the MS MARCO form.
    """

    rankings: Run
    form: str
    tag: str | None

    @property
    def depth(self) -> int:
        """Documents of the query that has most."""
        return max(map(len, self.rankings.values()))

    @property
    def lines(self) -> int:
        """Documents of all queries."""
        return sum(map(len, self.rankings.values()))

    def reaches(self, cutoff: int) -> bool:
        """Whether a measure with this cut-off can be taken: some query has as many documents."""
        return self.depth >= cutoff


@dataclass
class _Seen:
    """What earlier lines say of the next: documents and ranks by query, foreign queries, the last tag."""

    form: str | None = None
    tag: str | None = None
    last_tag: str | None = None
    rankings: dict[str, dict[str, float]] = field(default_factory=dict)
    scores: dict[str, set[float]] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)


def read_imported(path: Path, judged: Mapping[str, Mapping[str, int]] | None = None) -> ImportedRun:
    """Read a run, plain or gzipped; with ``judged`` ({qid: {docid: grade}}) also see that it belongs to it.

    Raises DataError, one sentence with file and line: another number of columns, a damaged or cut off file, a
    rank or score that is no number, a document or (MS MARCO) a rank twice for a query, a query that is not
    among the judged ones, a document id in another form than every judged one.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; name a run in TREC or MS MARCO form, plain or gzipped")
    seen, ids = _Seen(), {}
    form_of_ids = _form_of_ids(judged or {})
    for number, line in _body(path):
        where = f"{path}:{number}"
        qid, document, score = _parsed(line, where, seen)
        ranking = seen.rankings.setdefault(qid, {})
        if document in ranking:
            raise DataError(f"{where}: document {document!r} is listed twice for query {qid!r}")
        if form_of_ids and not form_of_ids.fullmatch(document):
            raise DataError(
                f"{where}: document id {document!r} is of another collection: those judged look like "
                f"{_example(judged)!r}; import the run for cells of its own collection"
            )
        ranking[ids.setdefault(document, document)] = score
        if judged is not None and qid not in judged:
            seen.foreign.setdefault(qid, number)
    if not seen.rankings:
        raise DataError(f"{path}:1: there is no line of a run in it; get the file again")
    if seen.foreign:
        raise _foreign(path, seen, len(judged))
    return ImportedRun({q: list(r.items()) for q, r in seen.rankings.items()}, seen.form, seen.tag)


def _body(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines below the header, which is every line at the top that begins with ``#``."""
    above = True
    for number, line in numbered_lines(path):
        above = above and line.startswith("#")
        if not above:
            yield number, line


def _parsed(line: str, where: str, seen: _Seen) -> tuple[str, str, float]:
    """Query, document and score of a line; notes the form at the first."""
    fields, whole = line.split(), line.endswith("\n")
    tabbed = line.count("\t") == 2 and len(fields) == 3
    form = TREC if len(fields) == 6 else MS_MARCO if tabbed else None
    if form is None or form != (seen.form or form):
        expected = {
            TREC: f"a TREC run has 6 ({COLUMNS})",
            MS_MARCO: "an MS MARCO run has 3 (qid pid rank), parted by tabs",
            None: f"a TREC run has 6 ({COLUMNS}), an MS MARCO run 3 (qid pid rank) parted by tabs",
        }[seen.form]
        raise DataError(f"{where}: {len(fields)} columns; {expected if whole else AGAIN}")
    if form == TREC:
        return _trec(fields, where, seen, whole)
    return _ms_marco(fields, where, seen, whole)


def _trec(fields: list[str], where: str, seen: _Seen, whole: bool) -> tuple[str, str, float]:
    qid, _, document, rank, text, tag = fields
    if not rank.isdecimal():
        raise DataError(f"{where}: the rank {rank!r} is no whole number")
    score = _finite(text)
    if score is None:
        raise DataError(f"{where}: the score {text!r} is no finite float32 number")
    if not whole and seen.last_tag not in (None, tag):
        raise DataError(f"{where}: the tag {tag!r} is not {seen.last_tag!r} and the line has no end: {AGAIN}")
    seen.form, seen.tag, seen.last_tag = TREC, seen.tag or tag, tag
    return qid, document, score


def _ms_marco(fields: list[str], where: str, seen: _Seen, whole: bool) -> tuple[str, str, float]:
    qid, document, rank = fields
    if not (rank.isdecimal() and len(rank) < 9 and int(rank) <= _LARGEST_RANK):
        raise DataError(f"{where}: the rank {rank!r} is no whole number up to {_LARGEST_RANK}")
    score, before = -float(rank), seen.scores.setdefault(qid, set())
    if score in before:
        raise DataError(f"{where}: rank {rank} is given twice for query {qid!r}")
    follows = -score == 1 - min(before) if before else score in (0, -1)
    if not whole and not follows:
        raise DataError(f"{where}: rank {rank} does not follow those before and the line has no end: {AGAIN}")
    before.add(score)
    seen.form = MS_MARCO
    return qid, document, score


def _foreign(path: Path, seen: _Seen, judged: int) -> DataError:
    qid, number = next(iter(seen.foreign.items()))
    where = f"{path}:{number}"
    if len(seen.foreign) == len(seen.rankings):
        return DataError(
            f"{where}: none of the run's {len(seen.rankings)} queries is among the {judged} judged ones, the "
            f"first is {qid!r}; import it for cells of its own topics"
        )
    return DataError(
        f"{where}: query {qid!r} is not among the {judged} judged ones, and {len(seen.foreign)} of the run's "
        f"{len(seen.rankings)} are not; leave their lines out if the run answers more topics than are judged"
    )


def _form_of_ids(judged: Mapping[str, Mapping[str, int]]) -> re.Pattern | None:
    """The one form all judged documents have; None where they have none, or nothing is judged by document."""
    documents = {document for grades in judged.values() for document in grades}
    return next((f for f in _FORMS_OF_IDS if documents and all(map(f.fullmatch, documents))), None)


def _example(judged: Mapping[str, Mapping[str, int]]) -> str:
    return next(document for grades in judged.values() for document in grades)
