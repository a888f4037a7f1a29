"""Reads TREC judgements strictly."""

import re
from pathlib import Path

from repro.errors import DataError
from repro.retrieval.evaluation.text_lines import columns, numbered_lines

Qrels = dict[str, dict[str, int]]
_GRADE = re.compile(r"[-+]?[0-9]+")


def read_qrels(path: Path) -> Qrels:
    """Read ``qid iteration docid grade`` lines, plain or gzipped, as ``{qid: {docid: grade}}``.

    Grade 0 and below are judged not relevant. Raises DataError ``file:line: reason`` for a line with another
    number of columns, a grade that is no whole number, or a document judged twice for a query.
    """
    qrels: Qrels = {}
    for number, line in numbered_lines(path):
        fields = columns(line, f"{path}:{number}")
        if len(fields) != 4:
            raise DataError(f"{path}:{number}: {len(fields)} columns; TREC qrels have 4 (qid 0 docid grade)")
        qid, _, document, grade = fields
        if not _GRADE.fullmatch(grade):
            raise DataError(f"{path}:{number}: the grade {grade!r} is no whole number")
        grades = qrels.setdefault(qid, {})
        if document in grades:
            raise DataError(f"{path}:{number}: document {document!r} is judged twice for query {qid!r}")
        grades[document] = int(grade)
    return qrels


def relevant_documents(qrels: Qrels) -> dict[str, list[str]]:
    """The documents of grade 1 and above of each query, sorted; a query without any has an empty list."""
    return {query: sorted(d for d, grade in grades.items() if grade >= 1) for query, grades in qrels.items()}
