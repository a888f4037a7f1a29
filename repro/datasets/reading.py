"""Reads the records of a located piece, wherever it is, and counts them against the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from repro.datasets import document_files, judgement_files, negative_files, topic_files, triple_files
from repro.datasets.catalog import dataset
from repro.datasets.negative_files import Listed
from repro.datasets.records import Document, Judgement, Query
from repro.datasets.source import Source
from repro.errors import DataError

T = TypeVar("T")


def documents(source: Source) -> Iterator[Document]:
    """Documents in the order of the source, one at a time; parts one after the other.

    Ids of a collection of parts begin with the part's number, "1:…", as two parts may use the same ids.
    Raises DataError for a malformed file, and at the end when the catalogue states another number of them.
    """
    if source.kind == "parts":
        for number, part in enumerate(source.parts, 1):
            yield from (document._replace(id=f"{number}:{document.id}") for document in documents(part))
        return
    yield from counted(_documents(source), source)


def queries(source: Source) -> list[Query]:
    """Queries of one split in the order of the source. Raises DataError as ``documents`` does."""
    return list(counted(_queries(source), source))


def judgements(source: Source) -> list[Judgement]:
    """Judgements of one split, each pair once, in the order of the source; none where answers decide.

    Raises DataError as ``documents`` does.
    """
    return list(dict.fromkeys(judgement_rows(source)))


def judgement_rows(source: Source) -> Iterator[Judgement]:
    """Judgements row by row, repeated ones included: so the collections' makers count them, and so do we."""
    return counted(_judgements(source), source)


def triples(source: Source) -> Iterator[tuple[str, str, str]]:
    """Query, relevant and irrelevant document ids, row by row. Raises DataError as ``documents`` does."""
    return counted(_triples(source), source)


def negatives(source: Source, *, scored: bool = False) -> Iterator[Listed]:
    """Negatives as retrievers found them, query by query. Raises DataError as ``documents`` does.

    ``scored`` refuses passages without a cross-encoder's score.
    """
    return counted(_negatives(source, scored), source)


def counted(records: Iterable[T], source: Source) -> Iterator[T]:
    """Yield ``records``. Raises DataError at their end unless they are as many as the catalogue states."""
    count = 0
    for record in records:
        count += 1
        yield record
    expected = dataset(source.dataset).counts.get(source.piece)
    if expected is not None and count != expected:
        where = f"{source.files[0]}: " if source.files else ""
        raise DataError(
            f"{where}{count:,} {source.piece} where {source.dataset} has {expected:,}: "
            "not the collection the papers used"
        )


def _documents(source: Source) -> Iterable[Document]:
    if source.kind == "embedded":
        from repro.datasets import tiny

        return tiny.documents(source.dataset)
    if source.kind == "library":
        from repro.datasets import libraries

        return libraries.documents(source.dataset)
    return document_files.documents(source.files[0])


def _queries(source: Source) -> Iterable[Query]:
    if source.kind == "embedded":
        from repro.datasets import tiny

        return tiny.queries(*_corpus_and_split(source))
    if source.kind == "library":
        from repro.datasets import libraries

        return libraries.queries(source.dataset)
    file, *judged = source.files
    every = topic_files.queries(file, source.format)
    if not judged:
        return every
    format = "beir" if source.format == "beir" else "trec"
    wanted = {judgement.query for judgement in judgement_files.judgements(judged[0], format)}
    return topic_files.split_of(every, wanted, file, judged[0])


def _judgements(source: Source) -> Iterable[Judgement]:
    if source.kind == "absent":
        return ()
    if source.kind == "embedded":
        from repro.datasets import tiny

        return tiny.judgements(*_corpus_and_split(source))
    if source.kind == "library":
        from repro.datasets import libraries

        return libraries.judgements(source.dataset)
    return judgement_files.judgements(source.files[0], source.format)


def _triples(source: Source) -> Iterable[tuple[str, str, str]]:
    if source.kind == "library":
        from repro.datasets import libraries

        return libraries.triples(source.dataset)
    return triple_files.triples(source.files[0])


def _negatives(source: Source, scored: bool) -> Iterable[Listed]:
    if source.kind == "library":
        from repro.datasets import libraries

        return negative_files.listed(libraries.linked_file(source.dataset), scored=scored)
    return negative_files.listed(source.files[0], scored=scored)


def _corpus_and_split(source: Source) -> tuple[str, str]:
    entry = dataset(source.dataset)
    return entry.corpus_id, entry.split or ""
