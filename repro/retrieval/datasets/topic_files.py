"""Reads queries from BEIR's queries.jsonl, from TREC-style topics, and questions with answers."""

import ast
from collections.abc import Iterator
from pathlib import Path

from repro.errors import DataError
from repro.retrieval.datasets.document_files import checked_text, json_rows
from repro.retrieval.datasets.lines import checked_id, lines, malformed
from repro.retrieval.datasets.records import Query


def queries(path: Path, format: str) -> Iterator[Query]:
    """Queries in the order of the file, their text without surrounding white space.

    ``format``: "beir" (JSON lines with _id and text), "trec" (id, tab, text) or "answers" (question, tab, a
    list of strings as Python writes it; ids count from 0, as in ir_datasets). Raises DataError, with file and
    line, for anything else, for a query without text and for an id that comes twice.
    """
    seen: set[str] = set()
    for number, query in READERS[format](path):
        if query.id in seen:
            raise malformed(path, number, f"the query id {query.id!r} was on a line before")
        if not query.text:
            raise malformed(path, number, f"query {query.id!r} has no text")
        seen.add(query.id)
        yield query


def split_of(every: Iterator[Query], wanted: set[str], queries_file: Path, qrels_file: Path) -> list[Query]:
    """The queries that the split's judgements are about. Raises DataError when one of them is nowhere."""
    queries_of_split = [query for query in every if query.id in wanted]
    missing = wanted - {query.id for query in queries_of_split}
    if missing:
        example = f"judges query {min(missing)!r}, which {queries_file} does not have"
        raise DataError(f"{qrels_file}: {example} ({len(missing)} such)")
    return queries_of_split


def _beir_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for number, row in json_rows(path):
        id = checked_id(row.get("_id"), "_id", path, number)
        yield number, Query(id, checked_text(row, "text", path, number, needed=True).strip())


def _trec_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for number, line in lines(path):
        id, text = _two_columns(line, path, number)
        yield number, Query(checked_id(id.strip(), "query id", path, number), text.strip())


def _answer_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for position, (number, line) in enumerate(lines(path)):
        question, text = _two_columns(line, path, number)
        yield number, Query(str(position), question.strip(), _answer_list(text.strip(), path, number))


def _two_columns(line: str, path: Path, number: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) != 2:
        raise malformed(path, number, f"has {len(fields)} columns instead of 2 parted by a tab")
    return fields


def _answer_list(text: str, path: Path, number: int) -> tuple[str, ...]:
    """The answers; a list with quotes in it may be quoted once more, as CSV files do."""
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = text[1:-1].replace('""', '"')
    try:
        answers = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise malformed(path, number, f"the answers are not a list of strings: {text[:60]!r}") from error
    if not isinstance(answers, list) or not answers:
        raise malformed(path, number, f"the answers are not a list with something in it: {text[:60]!r}")
    if not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise malformed(path, number, f"an answer is not a string with something in it: {text[:60]!r}")
    return tuple(answers)


READERS = {"beir": _beir_queries, "trec": _trec_queries, "answers": _answer_queries}
