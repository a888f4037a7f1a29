"""Writes the files of a data folder, each beside its place and moved there once all of it is written."""

import contextlib
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from repro.progress import Progress
from repro.retrieval.datasets.catalog import Dataset
from repro.retrieval.datasets.records import Document, Judgement, Query


def write_documents(documents: Iterable[Document], entry: Dataset, root: Path, progress: Progress) -> Path:
    """Write the documents of a collection as JSON lines."""
    with progress.task(f"fetching {entry.id}", entry.counts.get("documents")) as advance:

        def rows() -> Iterable[str]:
            for document in documents:
                advance()
                yield json_document(document)

        return write(root / f"{entry.file}.jsonl", rows())


def write_queries(queries: Iterable[Query], entry: Dataset, root: Path) -> Path:
    """Write queries as JSON lines, in the folder of their corpus."""
    rows = (_json({"_id": query.id, "text": query.text}) for query in queries)
    return write(root / entry.corpus_id / "queries.jsonl", rows)


def write_qrels(judgements: Iterable[Judgement], entry: Dataset, root: Path) -> Path:
    """Write the judgements of a split in three columns, in the folder of its corpus."""
    rows = (f"{row.query}\t{row.document}\t{row.grade}\n" for row in judgements)
    path = root / entry.corpus_id / "qrels" / f"{entry.split}.tsv"
    return write(path, ("query-id\tcorpus-id\tscore\n", *rows))


def json_document(document: Document) -> str:
    """A line of JSON; the address only where there is one."""
    row = {"_id": document.id, "title": document.title, "text": document.text}
    return _json({**row, "url": document.url} if document.url else row)


def write(path: Path, rows: Iterable[str]) -> Path:
    """Write ``rows`` beside ``path`` and move them into place once all of them are there."""
    with _partial_file(path) as scratch:
        with scratch.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(rows)
        return scratch.replace(path)


def copy(source: Path, path: Path) -> Path:
    """Copy a file beside ``path`` and move it into place."""
    with _partial_file(path) as scratch:
        shutil.copyfile(source, scratch)
        return scratch.replace(path)


def _json(row: dict[str, str]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write under; nothing of that name stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.partial")
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)
