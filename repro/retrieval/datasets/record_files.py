"""Read the formats of BEIR, TREC and the datasets' creators, e.g. ``collection.tsv``."""

import ast
import contextlib
import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from repro.errors import DataError
from repro.machine.bounded_reading import checked_id, lines, malformed, open_unpacked, unrepeated
from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.libraries import quiet_ir_datasets

RECENT = 20_000  # ids kept as strings


def documents(path: Path, known: Sequence[str] = ()) -> Iterator[Document]:
    """Yield documents of JSON lines (_id, title, text, url or metadata.url). Skips the first, ``known`` ones.

    Raises DataError for malformed fields and for a duplicate id, noticed up to 20,000 lines later.
    """
    seen = _SeenIds(path)
    for place, id in enumerate(known):
        seen.add(id, place)
    for number, row in json_rows(path, after=len(known)):
        id = checked_id(row.get("_id"), "_id", path, number)
        seen.add(id, number)
        metadata = row.get("metadata")
        url = row.get("url") or (metadata.get("url") if isinstance(metadata, dict) else None)
        title = _checked_text(row, "title", path, number, needed=False)
        text = _checked_text(row, "text", path, number, needed=True)
        yield Document(id, title, text, url if isinstance(url, str) else "")
    seen.check()


class _SeenIds:
    """Finds duplicates by a hash of 8 bytes per id. For equal hashes the file is read again."""

    def __init__(self, path: Path):
        self._path = path
        self._recent: dict[str, int] = {}
        self._sorted: list = []  # arrays, each twice the next or longer

    def add(self, id: str, number: int) -> None:
        if id in self._recent:
            raise self._duplicate_error(id, number)
        self._recent[id] = number
        if len(self._recent) == RECENT:
            self.check()

    def check(self) -> None:
        import numpy as np

        ids = list(self._recent)
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        is_repeated = np.zeros(len(ids), bool)
        for earlier_hashes in self._sorted:
            places = np.minimum(earlier_hashes.searchsorted(hashes), len(earlier_hashes) - 1)
            is_repeated |= earlier_hashes[places] == hashes
        for place in np.flatnonzero(is_repeated):
            if ids[place] in self._earlier_ids(number := self._recent[ids[place]]):
                raise self._duplicate_error(ids[place], number)
        self._sorted.append(np.sort(hashes))
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            self._sorted[-2:] = [np.sort(np.concatenate(self._sorted[-2:]))]
        self._recent.clear()

    def _earlier_ids(self, number: int) -> Iterator[Any]:
        rows = itertools.takewhile(lambda entry: entry[0] < number, json_rows(self._path))
        return (row.get("_id") for _, row in rows)

    def _duplicate_error(self, id: str, number: int) -> DataError:
        return malformed(self._path, number, f"the _id {id!r} repeats an earlier one")


def json_rows(path: Path, *, after: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of each line after the first ``after`` lines.

    Raises DataError for a line that is not a JSON object or has a duplicate key.
    """
    for number, line in itertools.islice(lines(path), after, None):
        try:
            row = _DECODER.decode(line)
        except (ValueError, RecursionError) as error:
            position = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise malformed(path, number, f"is not JSON: {getattr(error, 'msg', error)}{position}") from error
        if not isinstance(row, dict):
            raise malformed(path, number, f"is not a JSON object but {type(row).__name__}")
        yield number, row


_DECODER = json.JSONDecoder(object_pairs_hook=unrepeated)


def _checked_text(row: Mapping[str, Any], name: str, path: Path, number: int, *, needed: bool) -> str:
    value = row.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise malformed(path, number, f"the {name} is {value!r}, not a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:  # half a surrogate pair, valid in JSON only
        raise malformed(path, number, f"the {name} has a lone surrogate at position {error.start}") from error
    return value


def queries(path: Path, format: str) -> Iterator[Query]:
    """Yield queries. Raises DataError for a malformed line, an empty text or a duplicate id.

    ``format`` is "beir" (JSON lines), "trec" (id, tab, text), "answers" (question, tab, Python list) or
    "parquet".
    """
    seen: set[str] = set()
    for number, query in _QUERY_READERS[format](path):
        if query.id in seen:
            raise malformed(path, number, f"the query id {query.id!r} repeats an earlier one")
        if not query.text:
            raise malformed(path, number, f"query {query.id!r} has no text")
        seen.add(query.id)
        yield query


def split_of(every: Iterator[Query], wanted: set[str], queries_file: Path, qrels_file: Path) -> list[Query]:
    """Return the ``wanted`` queries, in order. Raises DataError if one is missing."""
    queries_of_split = [query for query in every if query.id in wanted]
    missing = wanted - {query.id for query in queries_of_split}
    if missing:
        example = f"judges query {min(missing)!r}, which {queries_file} does not have"
        raise DataError(f"{qrels_file}: {example} ({len(missing)} such)")
    return queries_of_split


def _beir_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for number, row in json_rows(path):
        id = checked_id(row.get("_id"), "_id", path, number)
        yield number, Query(id, _checked_text(row, "text", path, number, needed=True).strip())


def _trec_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for number, line in lines(path):
        id, text = _columns(line.split("\t"), 2, path, number)
        yield number, Query(checked_id(id.strip(), "query id", path, number), text.strip())


def _answer_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for position, (number, line) in enumerate(lines(path)):
        question, text = _columns(line.split("\t"), 2, path, number)
        yield number, Query(str(position), question.strip(), _answer_list(text.strip(), path, number))


def _columns(fields: list[str], count: int, path: Path, number: int, *, separator: str = "tabs") -> list[str]:
    if len(fields) != count:
        reason = f"has {len(fields)} columns instead of {count} separated by {separator}"
        raise malformed(path, number, reason)
    return fields


def _answer_list(text: str, path: Path, number: int) -> tuple[str, ...]:
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = text[1:-1].replace('""', '"')
    try:
        answers = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        answers = None
    is_list = isinstance(answers, list) and answers
    if not is_list or not all(isinstance(answer, str) and answer.strip() for answer in answers):
        raise malformed(path, number, f"the answers are not a list of strings: {text[:60]!r}")
    return tuple(answers)


_QUERY_READERS = {"beir": _beir_queries, "trec": _trec_queries, "answers": _answer_queries}


INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
HEADER = ("query-id", "corpus-id", "score")


def judgements(path: Path, format: str) -> Iterator[Judgement]:
    """Yield judgements. Raises DataError for a malformed row, or two grades for one pair.

    ``format`` is "beir" (tabs, optional header), "trec" (white space, four columns) or "parquet".
    """
    if format == "parquet":
        yield from _parquet_judgements(path)
        return
    grades: dict[tuple[str, str], int] = {}
    for number, line in lines(path):
        if number == 1 and format == "beir" and tuple(map(str.strip, line.split("\t"))) == HEADER:
            continue
        judgement = _judgement(line, format, path, number)
        earlier_grade = grades.setdefault((judgement.query, judgement.document), judgement.grade)
        if earlier_grade != judgement.grade:
            pair = f"{judgement.document!r} for query {judgement.query!r}"
            reason = f"judges {pair} as {judgement.grade}, an earlier line as {earlier_grade}"
            raise malformed(path, number, reason)
        yield judgement
    if not grades:
        raise DataError(f"{path}: has a header but no judgements")


def _judgement(line: str, format: str, path: Path, number: int) -> Judgement:
    if format == "beir":
        fields = _columns(line.split("\t"), 3, path, number)
    else:
        fields = _columns(line.split(), 4, path, number, separator="white space")
    query = checked_id(fields[0].strip(), "query id", path, number)
    document = checked_id(fields[-2].strip(), "document id", path, number)
    grade = fields[-1].strip()
    if not INTEGER.fullmatch(grade):
        raise malformed(path, number, f"the grade {grade!r} is not an integer")
    return Judgement(query, document, int(grade))


class _File:
    """A file for readers of ir_datasets, which would look for caches next to its path."""

    def __init__(self, path: Path):
        self._path = path

    @contextlib.contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        with open_unpacked(self._path) as file:
            yield file

    def path(self, force: bool = True) -> str:
        return "/dev/null"


def _collection(path: Path) -> Iterator[Document]:
    quiet_ir_datasets()
    from ir_datasets.datasets.msmarco_passage import FixEncoding

    for number, line in enumerate(FixEncoding(_File(path)), 1):
        id, tab, text = line.decode().removesuffix("\n").partition("\t")
        if not tab:
            raise malformed(path, number, "is not a number and a text separated by a tab")
        yield Document(id, "", text)


def _trec_documents(path: Path) -> Iterator[Document]:
    quiet_ir_datasets()
    from ir_datasets.datasets.msmarco_document import MsMarcoTrecDocs

    for row in MsMarcoTrecDocs(_File(path)).docs_iter():
        yield Document(row.doc_id, row.title, row.body, row.url)


def _psgs(path: Path) -> Iterator[Document]:
    rows = lines(path)
    next(rows)
    for number, line in rows:
        id, text, title = _columns(line.split("\t"), 3, path, number)
        yield Document(id, title, text)


def questions(path: Path) -> Iterator[Query]:
    """Yield DPR's training questions with answers. An id is a position, from 0."""
    with _dpr_readers(path) as (queries, _):
        for row in queries.queries_iter():
            yield Query(row.query_id, row.text.strip(), tuple(row.answers))


def contexts(path: Path) -> Iterator[Judgement]:
    """Yield DPR's training passages as judgements, with ir_datasets' grades."""
    with _dpr_readers(path) as (_, qrels):
        for row in qrels.qrels_iter():
            yield Judgement(row.query_id, row.doc_id, int(row.relevance))


@contextlib.contextmanager
def _dpr_readers(path: Path) -> Iterator[tuple]:
    quiet_ir_datasets()
    from ir_datasets.datasets.dpr_w100 import QREL_DEFS, DprW100Manager, DprW100Queries
    from ir_datasets.formats import TrecQrels

    with tempfile.TemporaryDirectory() as folder:
        tables = DprW100Manager(_File(path), Path(folder))
        yield DprW100Queries(tables.file_ref("queries.tsv")), TrecQrels(tables.file_ref("qrels"), QREL_DEFS)


def _parquet_documents(path: Path) -> Iterator[Document]:
    for number, row in _parquet_rows(path, "_id", "text"):
        yield Document(checked_id(row["_id"], "_id", path, number), "", row["text"] or "")


def _parquet_queries(path: Path) -> Iterator[tuple[int, Query]]:
    for number, row in _parquet_rows(path, "_id", "text"):
        yield number, Query(checked_id(row["_id"], "_id", path, number), (row["text"] or "").strip())


def _parquet_judgements(path: Path) -> Iterator[Judgement]:
    for number, row in _parquet_rows(path, "query-id", "corpus-id"):
        query, document = (checked_id(row[name], name, path, number) for name in ("query-id", "corpus-id"))
        yield Judgement(query, document, 1)


def _parquet_rows(path: Path, *columns: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            batches = (batch.to_pylist() for batch in file.iter_batches(columns=list(columns)))
            for number, row in enumerate(itertools.chain.from_iterable(batches), 1):
                if row.keys() != set(columns):
                    raise malformed(path, number, f"its columns are not {' and '.join(columns)}")
                yield number, row
    except (ArrowException, OSError) as error:
        raise DataError(f"{path}: it is not a Parquet file ({str(error)[:80]})") from error


_QUERY_READERS["parquet"] = _parquet_queries
HOME_DOCUMENTS = {
    "parquet": _parquet_documents,
    "collection": _collection,
    "trec-documents": _trec_documents,
    "psgs": _psgs,
}
