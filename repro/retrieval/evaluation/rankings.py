"""Reads a run file, or a part of it, query by query: the hundred million lines of one exceed the memory."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from repro.errors import DataError
from repro.retrieval.evaluation.text_lines import read_score

LINE = 1 << 16  # bytes within which a line is expected to end
Line = tuple[int, list[str]]  # its number, and its columns


def rankings(
    path: Path, begin: int = 0, end: int | None = None
) -> Iterator[tuple[str, list[str], list[float]]]:
    """Yield each query with its documents, best first, and their scores, of a run that ``write_run`` wrote.

    Of a part of the file these are the queries whose first line begins at a byte from ``begin`` on and before
    ``end``. Parts that follow each other have every query once, and none has to be read for another.

    Raises:
        DataError: a query's lines do not stand together, a line's rank is not its place, or its score is not
            a number.
    """
    seen: set[str] = set()
    begin = _start(path, begin)
    end = None if end is None else _start(path, end)
    for query, lines in groupby(_lines(path, begin, end), key=_query):
        if query in seen:
            raise scattered_query_error(path, query)
        seen.add(query)
        documents: list[str] = []
        scores: list[float] = []
        for number, line in lines:
            if len(line) != 6 or line[3] != str(len(documents) + 1):
                place = f"{path}:{number + _lines_before(path, begin)}"
                raise DataError(f"{place}: not line {len(documents) + 1} of the ranking of {query!r}")
            documents.append(line[2])
            scores.append(_score(line[4], path, number, begin))
        yield query, documents, scores


def parts(path: Path, size: int) -> range:
    """The bytes at which parts of a run of ``size`` bytes each begin. Raises DataError for a missing file."""
    try:
        return range(0, path.stat().st_size, size)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None


def scattered_query_error(path: Path, query: str) -> DataError:
    """The error for a query whose lines are found in two places."""
    return DataError(f"{path}: the lines of query {query!r} do not stand together")


def _score(text: str, path: Path, number: int, begin: int) -> float:
    try:
        return read_score(text, "")
    except DataError:
        return read_score(text, f"{path}:{number + _lines_before(path, begin)}")


def _query(line: Line) -> str:
    return line[1][0] if line[1] else ""


def _lines(path: Path, begin: int, end: int | None) -> Iterator[Line]:
    """The lines between two bytes at which lines begin, numbered from 1; DataError for what is no text."""
    place = begin
    try:
        with open(path, "rb") as file:
            file.seek(begin)
            for number, line in enumerate(file, 1):
                if end is not None and place >= end:
                    return
                place += len(line)
                yield number, line.decode("utf-8").split()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}:{number + _lines_before(path, begin)}: not UTF-8 text") from None


def _start(path: Path, place: int) -> int:
    """The byte at which the first query begins that begins at ``place`` or behind it."""
    if place == 0:
        return 0
    start, previous_query = _line_start(path, min(place, path.stat().st_size)), None
    with open(path, "rb") as file:
        file.seek(start)
        for line in file:
            query = line.split(maxsplit=1)[:1]
            if previous_query not in (None, query):
                break
            previous_query = query
            start += len(line)
    return start


def _line_start(path: Path, place: int) -> int:
    """The byte at which the line begins that has the byte before ``place``."""
    begin, newline = place, -1
    with open(path, "rb") as file:
        while newline < 0 and begin > 0:
            begin = max(begin - LINE, 0)
            file.seek(begin)
            newline = file.read(min(LINE, place - 1 - begin)).rfind(b"\n")
    return begin + newline + 1


def _lines_before(path: Path, place: int) -> int:
    """The number of lines that end before a byte; to name a line, which is all that anybody does with it."""
    count = 0
    with open(path, "rb") as file:
        while place > 0 and (block := file.read(min(place, LINE))):
            count += block.count(b"\n")
            place -= len(block)
    return count
