"""Judgements of one's own: a file in TREC's or BEIR's columns, or in JSON as ranx and BEIR write it."""

from pathlib import Path

from repro.errors import DataError
from repro.retrieval.datasets import record_files
from repro.retrieval.datasets.lines import lines
from repro.retrieval.evaluation.peer_files import check_is_read, read_json
from repro.retrieval.evaluation.qrels import Qrels

_FORMS = "judgements are read in TREC's form (qid 0 docid grade), BEIR's (qid docid grade, parted by tabs)"
_FORMS += " or as JSON {qid: {docid: grade}}"


def read_given_qrels(path: Path) -> Qrels:
    """Read judgements, plain or gzipped, as ``{qid: {docid: grade}}``.

    Raises DataError, one sentence that begins with the file and, where there is one, the line: a form that is
    not read, a damaged or cut-off file, a grade that is no whole number, or two grades of one document.
    """
    if check_is_read(path, _FORMS).startswith(b"{"):
        qrels = read_json(path, "grade", _grade)
    else:
        number, first_line = next(lines(path))
        columns = len(first_line.split())
        if columns not in (3, 4):
            what = "6 columns, as of a run" if columns == 6 else f"{columns} columns"
            raise DataError(f"{path}:{number}: it has {what}; {_FORMS}")
        qrels = {}
        for judgement in record_files.judgements(path, "beir" if columns == 3 else "trec"):
            qrels.setdefault(judgement.query, {})[judgement.document] = judgement.grade
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        count = sum(map(len, qrels.values()))
        raise DataError(f"{path}: none of the {count:,} judgements has a grade above 0: nothing is relevant")
    return qrels


def _grade(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(f"{place}: the grade {value!r} is no whole number")
    return value
