"""Run files of others, whose form the first line tells, checked against the topics they should answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import DataError
from repro.evaluation.run_depth import run_depth
from repro.evaluation.runs import Run, read_lines
from repro.evaluation.text_lines import numbered_lines

_FORMS_OF_IDS = (re.compile(r"[0-9]+"), re.compile(r"D[0-9]+"))  # passages and documents of MS MARCO


@dataclass(frozen=True)
class ForeignRun:
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
        """The number of documents of the query that has most."""
        return run_depth(self.rankings, self.rankings)

    @property
    def lines(self) -> int:
        """The number of documents of all queries."""
        return sum(map(len, self.rankings.values()))


def read_foreign(path: Path, judged: Mapping[str, Mapping[str, int]] | None = None) -> ForeignRun:
    """Read a run, plain or gzipped; with ``judged`` ({qid: {docid: grade}}) also see that it belongs to it.

    Raises DataError, one sentence with file and line: another number of columns, a damaged or cut off file, a
    rank or score that is no number, a document or (MS MARCO) a rank twice for a query, a query that is not
    among the judged ones, a document id in another form than every judged one.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; name a run in TREC or MS MARCO form, plain or gzipped")
    run = read_lines(path)
    if not run.scores:
        raise DataError(f"{path}:1: there is no line of a run in it; get the file again")
    if judged is not None:
        _check_documents(path, run.scores, judged)
        _check_queries(path, run.scores, judged)
    rankings = {qid: list(ranking.items()) for qid, ranking in run.scores.items()}
    return ForeignRun(rankings, run.form, run.tag)


def _check_documents(path: Path, run: Mapping, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Refuse a document id of another form than the one that all judged documents have, if they have one."""
    documents = {document for grades in qrels.values() for document in grades}
    form = next((f for f in _FORMS_OF_IDS if documents and all(map(f.fullmatch, documents))), None)
    for qid, ranking in run.items() if form else ():
        for document in ranking:
            if not form.fullmatch(document):
                place = _place(path, qid, document)
                reason = f"of another collection: those judged look like {min(documents)!r}"
                remedy = "import the run for cells of its own collection"
                raise DataError(f"{place}: document id {document!r} is {reason}; {remedy}")


def _check_queries(path: Path, run: Mapping, qrels: Mapping) -> None:
    unjudged_ids = [qid for qid in run if qid not in qrels]
    if not unjudged_ids:
        return
    place = _place(path, unjudged_ids[0], next(iter(run[unjudged_ids[0]])))
    if len(unjudged_ids) == len(run):
        raise DataError(
            f"{place}: none of the run's {len(run)} queries is among the {len(qrels)} judged ones, the "
            f"first is {unjudged_ids[0]!r}; import it for cells of its own topics"
        )
    raise DataError(
        f"{place}: query {unjudged_ids[0]!r} is not among the {len(qrels)} judged ones, and "
        f"{len(unjudged_ids)} of the run's {len(run)} are not; leave their lines out if the run answers more "
        "topics than are judged"
    )


def _place(path: Path, qid: str, document: str) -> str:
    """File and number of the line that lists a document for a query."""
    lines = ((number, line.split()) for number, line in numbered_lines(path))
    number = next(number for number, fields in lines if fields[:1] == [qid] and document in fields[1:3])
    return f"{path}:{number}"
