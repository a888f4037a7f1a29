"""Reads a run file query by query: at full scale its hundred million lines exceed the memory."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from repro.errors import DataError
from repro.evaluation.text_lines import numbered_lines, read_score


def rankings(path: Path) -> Iterator[tuple[str, list[str], list[float]]]:
    """Yield each query with its documents, best first, and their scores, of a run that ``write_run`` wrote.

    Raises:
        DataError: a query's lines do not stand together, a line's rank is not its place, or its score is not
            a number.
    """
    seen: set[str] = set()
    fields = ((number, line.split()) for number, line in numbered_lines(path))
    for query, lines in groupby(fields, key=lambda entry: entry[1][0] if entry[1] else ""):
        if query in seen:
            raise DataError(f"{path}: the lines of query {query!r} do not stand together")
        seen.add(query)
        documents, scores = [], []
        for number, line in lines:
            if len(line) != 6 or line[3] != str(len(documents) + 1):
                raise DataError(f"{path}:{number}: not line {len(documents) + 1} of the ranking of {query!r}")
            documents.append(line[2])
            scores.append(read_score(line[4], f"{path}:{number}"))
        yield query, documents, scores
