"""Read the records of a located piece, e.g. of ``beir/scifact``, and check their number.

With ``first`` only that many records are read, and the number is not checked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from repro.errors import DataError
from repro.retrieval.datasets import libraries, negative_files, record_files
from repro.retrieval.datasets.catalog import WORDS, Dataset, Document, Judgement, Query, dataset, in_fold
from repro.retrieval.datasets.negative_files import Chunk, ListedQuery, read_listed_queries
from repro.retrieval.datasets.sources import Source, check_home

T = TypeVar("T")


def documents(source: Source, *, first: int | None = None, known: Sequence[str] = ()) -> Iterator[Document]:
    """Yield documents in order, without the first ones, whose ids are ``known``.

    Ids of a concatenated collection begin with the part's number, e.g. "1:4711". Raises DataError, e.g. for a
    wrong number.
    """
    if source.kind == "parts":
        for number, part in enumerate(source.parts, 1):
            prefix = f"{number}:"
            part_ids = [id.removeprefix(prefix) for id in known if id.startswith(prefix)]
            for document in documents(part, first=first, known=part_ids):
                yield document._replace(id=f"{prefix}{document.id}")
        return
    read = record_files.HOME_DOCUMENTS.get(source.format, partial(record_files.documents, known=known))
    skipped = 0 if source.format == "jsonl" else len(known)
    records: Iterable[Document] = islice(_records(source, "documents", read), skipped, None)
    if first is None and not known:
        records = _some(records, lambda document: document.text.strip(), source, "has a text")
    yield from counted(records, source, first=first, count=len(known))


def queries(source: Source, *, first: int | None = None) -> list[Query]:
    """Return the queries of one split in order. Raises DataError if malformed or incomplete."""
    fold = dataset(source.dataset).fold
    records = _records(source, "queries", partial(_queries_of_file, source))
    return list(counted((query for query in records if in_fold(query.id, fold)), source, first=first))


def judgements(source: Source) -> list[Judgement]:
    """Return a split's judgements without duplicates. Raises DataError."""
    return list(dict.fromkeys(judgement_rows(source)))


def judgement_rows(source: Source, *, whole: bool = True) -> Iterator[Judgement]:
    """Yield judgements with duplicates, which published counts include.

    If ``whole``, raises DataError for a wrong number or no grade above 0.
    """
    if source.kind == "absent":
        return counted((), source)
    of_file = partial(record_files.judgements, format=source.format)
    read = record_files.contexts if source.format == "biencoder" else of_file
    records, fold = _records(source, "judgements", read), dataset(source.dataset).fold
    records = (judgement for judgement in records if in_fold(judgement.query, fold))
    if not whole:
        return records
    records = _some(records, lambda row: row.grade > 0, source, "has a grade above 0: nothing is relevant")
    return counted(records, source)


def rows(source: Source) -> Iterator[dict[str, Any] | Judgement]:
    """Yield documents or queries as rows of the stages' artefacts, or judgements. Raises DataError."""
    if source.piece == "documents":
        yield from (document_row(document, dataset(source.dataset)) for document in documents(source))
    elif source.piece == "queries":
        yield from (query_row(query, dataset(source.dataset)) for query in queries(source))
    else:
        yield from judgements(source)


def document_row(document: Document, entry: Dataset) -> dict[str, str]:
    row = document._asdict()
    return row if entry.addresses else {name: row[name] for name in ("id", "title", "text")}


def query_row(query: Query, entry: Dataset) -> dict[str, Any]:
    row = {"id": query.id, "text": query.text}
    return row | {"answers": list(query.answers)} if entry.answers else row


def triples(source: Source, *, first: int | None = None) -> Iterator[tuple[str, str, str]]:
    """Return an iterator of ids: query, relevant and irrelevant document. Raises DataError."""
    return counted(_records(source, "triples", negative_files.triples), source, first=first)


def negatives(source: Source, *, scored: bool = False, first: int | None = None) -> Iterator[ListedQuery]:
    """Return an iterator of queries' negatives. Raises DataError, e.g. if ``scored`` ones lack scores."""
    return counted(read_listed_queries(source.files[0], scored=scored), source, first=first)


def triple_chunks(source: Source, use: Callable[[Chunk], int]) -> Iterator[int]:
    """Call ``use`` on chunks and yield the row counts that it returns. Raises DataError for a wrong total."""
    count = 0
    for chunk in negative_files.chunks(source.files[0]):
        rows = use(chunk)
        count += rows
        yield rows
    _check_count(count, source)


def counted(records: Iterable[T], source: Source, *, first: int | None = None, count: int = 0) -> Iterator[T]:
    """Yield ``records``. Raises DataError if their number, plus ``count``, is not the catalogue's.

    ``first`` limits the number, without a check.
    """
    if first is not None:
        yield from islice(records, first - count)
        return
    for record in records:
        count += 1
        yield record
    _check_count(count, source)


def _some(records: Iterable[T], test: Callable[[T], object], source: Source, claim: str) -> Iterator[T]:
    count, passed = 0, False
    for record in records:
        count, passed = count + 1, passed or bool(test(record))
        yield record
    if count and not passed:
        counts = f"{count:,} {WORDS[source.piece]} of {source.dataset}"
        raise DataError(f"{source.place}none of the {counts} {claim}")


def _check_count(count: int, source: Source) -> None:
    expected_count = dataset(source.dataset).counts.get(source.piece)
    if expected_count is not None and count != expected_count:
        expected = f"{source.dataset} has {expected_count:,} in the papers"
        raise DataError(f"{source.place}{count:,} {source.piece}, but {expected}")


def _records(source: Source, kind: str, read: Callable[[Path], Iterable[T]]) -> Iterable[T]:
    if source.kind == "embedded":
        from repro.retrieval.datasets import tiny

        entry = dataset(source.dataset)
        split = () if kind == "documents" else (entry.split or "",)
        return getattr(tiny, kind)(entry.corpus_id, *split)
    if source.kind == "library":
        return getattr(libraries, kind)(source.dataset)
    if source.kind == "home":
        check_home(source)
    return read(source.files[0])


def _queries_of_file(source: Source, file: Path) -> Iterable[Query]:
    if source.format == "biencoder":
        return map(_with_single_blanks, record_files.questions(file))
    queries, qrels_files = record_files.queries(file, source.format), source.files[1:]
    if (source.kind, source.format) == ("home", "trec"):
        queries = map(_with_single_blanks, queries)
    if not qrels_files:
        return queries
    format = "beir" if source.format == "beir" else "trec"
    judged_ids = {judgement.query for judgement in record_files.judgements(qrels_files[0], format)}
    return record_files.split_of(queries, judged_ids, file, qrels_files[0])


def _with_single_blanks(query: Query) -> Query:
    return query._replace(text=" ".join(query.text.split()))
