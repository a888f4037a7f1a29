"""Reads relevance judgements from BEIR's qrels/<split>.tsv and from TREC's four columns."""

import re
from collections.abc import Iterator
from pathlib import Path

from repro.errors import DataError
from repro.retrieval.datasets.lines import checked_id, lines, malformed
from repro.retrieval.datasets.records import Judgement

INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
HEADER = ("query-id", "corpus-id", "score")


def judgements(path: Path, format: str) -> Iterator[Judgement]:
    """One judgement for every row, in the order of the file, rows that say the same twice included.

    ``format``: "beir" (query, document and grade parted by tabs, a header allowed) or "trec" (query,
    anything, document and grade parted by white space). Raises DataError, with file and line, for a row that
    is neither, a grade that is no integer, and a pair that was judged differently before.
    """
    grades: dict[tuple[str, str], int] = {}
    for number, line in lines(path):
        fields = line.split("\t") if format == "beir" else line.split()
        if format == "beir" and number == 1 and tuple(field.strip() for field in fields) == HEADER:
            continue
        judgement = _judgement(fields, path, number, columns=3 if format == "beir" else 4)
        earlier_grade = grades.setdefault((judgement.query, judgement.document), judgement.grade)
        if earlier_grade != judgement.grade:
            pair = f"{judgement.document!r} for query {judgement.query!r}"
            raise malformed(
                path, number, f"judges {pair} as {judgement.grade}, a line before as {earlier_grade}"
            )
        yield judgement
    if not grades:
        raise DataError(f"{path}: has a header but no judgements")


def _judgement(fields: list[str], path: Path, number: int, *, columns: int) -> Judgement:
    if len(fields) != columns:
        separator = "tabs" if columns == 3 else "white space"
        raise malformed(path, number, f"has {len(fields)} columns instead of {columns} parted by {separator}")
    query = checked_id(fields[0].strip(), "query id", path, number)
    document = checked_id(fields[-2].strip(), "document id", path, number)
    grade = fields[-1].strip()
    if not INTEGER.fullmatch(grade):
        raise malformed(path, number, f"the grade {grade!r} is not an integer")
    return Judgement(query, document, int(grade))
