"""Writes the files of a data folder, each beside its place and moved there once all of it is written.

Some are made from what their makers publish in another form.
"""

import contextlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from repro.errors import UsageError, check_known
from repro.progress import Progress
from repro.retrieval.datasets import reading, word_lists
from repro.retrieval.datasets.catalog import Dataset, dataset
from repro.retrieval.datasets.lines import lines, malformed
from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.sources import Source
from repro.retrieval.datasets.word_lists import known_lists


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
    """Return a line of JSON; the address only where there is one."""
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
    """Yield a name beside ``path`` to write under; nothing of that name stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.partial")
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


TITLED = "msmarco-passage/rocketqa"


def make(name: str, files: Sequence[Path], data_root: Path, progress: Progress) -> Path:
    """Make ``name``, the titled passages of RocketQA or a list of words, of ``files``; its place is returned.

    Raises:
        UsageError: nothing of that name is made, or not of so many files.
        DataError: a file is not what its makers publish, or has another number of rows than the catalogue
            states; a file that was there before then stays.
    """
    check_known("collection or list to make", name, valid=(TITLED, *known_lists()))
    if name != TITLED:
        return write(data_root / name, (f"{word}\n" for word in word_lists.make(name, files)))
    if len(files) != 2:
        raise UsageError(f"{TITLED} is made of two files, para.txt and para.title.txt, not of {len(files)}")
    entry = dataset(TITLED)
    source = Source(entry.id, "documents", "folder", "jsonl", (files[0],), version=entry.version)
    return write_documents(reading.counted(documents(*files), source), entry, data_root, progress)


def documents(texts: Path, titles: Path) -> Iterator[Document]:
    """Yield every text of para.txt with its title of para.title.txt, an empty one where it has none.

    Both have a number, a tab and the text or title on a line. Titles, in any order, are held in memory (about
    1 GB for 8.8 million). Raises DataError, with file and line, for any other line and for a number that is
    not above the one before it.
    """
    titles_by_number = {number: title for _, number, title in _rows(titles)}
    previous_number = -1
    for line, number, text in _rows(texts):
        if number <= previous_number:
            raise malformed(
                texts, line, f"passage {number} comes behind {previous_number}; order the lines by `sort -n`"
            )
        previous_number = number
        yield Document(str(number), titles_by_number.get(number, ""), text)


def _rows(path: Path) -> Iterator[tuple[int, int, str]]:
    for line, content in lines(path):
        number, tab, text = content.partition("\t")
        if not (tab and number.isascii() and number.isdecimal()) or "\t" in text:
            raise malformed(path, line, "is not a number and a text parted by a tab")
        yield line, int(number), text.strip()
