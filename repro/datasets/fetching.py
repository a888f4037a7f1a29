"""Fetches a collection into the data folder, in the layout that ``sources`` looks for."""

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.datasets import libraries, reading
from repro.datasets.catalog import Dataset, catalog, dataset
from repro.datasets.records import Document, Judgement, Query
from repro.datasets.source import Source
from repro.datasets.sources import LIBRARIES, describe_size, fetched_with
from repro.errors import BlockedError, DataError, UsageError
from repro.progress import Progress


@dataclass(frozen=True)
class Offer:
    """A download, to be shown and agreed to before ``load(data_root, progress)``."""

    description: str
    load: Callable[[Path, Progress], list[Path]]
    size: int | None = None
    licence: str = ""


def offer(id: str, *, library: str = "") -> Offer:
    """The download that ``id`` stands for; ``library`` "beir" takes a BEIR collection through beir itself.

    Loading raises BlockedError when the network fails and DataError when the counts are not the catalogue's;
    a file that was there before then stays. Raises UsageError for an id that needs no fetching, BlockedError
    for one that nobody gives out freely, with what to do instead.
    """
    entry = dataset(id)
    wanted = [dataset(part) for part in entry.members or entry.parts] or [dataset(fetched_with(entry))]
    _check(entry, wanted, library)
    size = max((one.size for one in wanted if one.size), default=None)  # forums come in one archive
    description = f"{entry.title}: {describe_size(size)} to download; {entry.licence}"

    def load(data_root: Path, progress: Progress) -> list[Path]:
        return [path for one in wanted for path in _load(one, data_root, progress, library)]

    return Offer(description, load, size, entry.licence)


def _check(entry: Dataset, wanted: list[Dataset], library: str) -> None:
    if entry.source == "embedded":
        raise UsageError(f"{entry.id} is embedded and needs no fetching")
    for one in wanted:
        if one.source not in LIBRARIES:
            raise BlockedError(f"{one.id} cannot be fetched ({one.licence})", one.how)
    if library not in ("", "beir") or (library and not entry.id.startswith("beir/")):
        raise UsageError(f"{entry.id} cannot be fetched with {library!r}; beir fetches what is called beir/…")


def _load(entry: Dataset, root: Path, progress: Progress, library: str) -> list[Path]:
    if entry.only_negatives:
        find = libraries.triples_file if "triples" in entry.pieces else libraries.linked_file
        return [_copy(find(entry.id), root / f"{entry.file}.gz")]
    if library == "beir":
        return _through_beir(entry, root)
    written = []
    if "documents" in entry.pieces:
        written.append(_documents(reading.documents(_library(entry, "documents")), entry, root, progress))
    if entry.topics:
        written += _separate_topics(entry, root)
    elif splits := _splits(entry):
        # ir_datasets keeps the queries of all splits under the id of the corpus, as a BEIR folder does.
        written.append(_queries(libraries.queries(entry.id), entry, root))
        for split in splits:
            written.append(_qrels(reading.judgement_rows(_library(split, "qrels")), split, root))
    return written


def _through_beir(entry: Dataset, root: Path) -> list[Path]:
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as parent:
        folder = libraries.beir_folder(entry.id, Path(parent))
        texts: dict[str, Query] = {}
        written = []
        for split in _splits(entry):
            documents, queries, judgements = libraries.beir_records(folder, split.split or "test")
            list(reading.counted(documents, _library(entry, "documents")))
            list(reading.counted(queries, _library(split, "queries")))
            texts.update((query.id, query) for query in queries)
            written.append(_qrels(list(reading.counted(judgements, _library(split, "qrels"))), split, root))
        written.append(_queries(texts.values(), entry, root))
        return [*written, _documents(documents, entry, root, Progress())]


def _splits(entry: Dataset) -> list[Dataset]:
    """The topics that lie in the BEIR folder of a corpus: its own, and those of its splits."""
    of_corpus = (other for other in catalog().values() if other.corpus_id == entry.id)
    return [split for split in of_corpus if "qrels" in split.pieces and not split.topics]


def _library(entry: Dataset, piece: str) -> Source:
    return Source(entry.id, piece, "library", entry.source, version=entry.version)


def _documents(documents: Iterable[Document], entry: Dataset, root: Path, progress: Progress) -> Path:
    with progress.task(f"fetching {entry.id}", entry.counts.get("documents")) as advance:

        def rows() -> Iterable[str]:
            for document in documents:
                row = {"_id": document.id, "title": document.title, "text": document.text}
                advance()
                yield _json({**row, "url": document.url} if document.url else row)

        return _write(root / f"{entry.file}.jsonl", rows())


def _queries(queries: Iterable[Query], entry: Dataset, root: Path) -> Path:
    rows = (_json({"_id": query.id, "text": query.text}) for query in queries)
    return _write(root / entry.corpus_id / "queries.jsonl", rows)


def _qrels(judgements: Iterable[Judgement], entry: Dataset, root: Path) -> Path:
    rows = (f"{row.query}\t{row.document}\t{row.grade}\n" for row in judgements)
    path = root / entry.corpus_id / "qrels" / f"{entry.split}.tsv"
    return _write(path, ("query-id\tcorpus-id\tscore\n", *rows))


def _separate_topics(entry: Dataset, root: Path) -> list[Path]:
    """Topics and qrels as two files of their own; the ids of questions with answers are their numbers."""
    queries = reading.queries(_library(entry, "queries"))
    if entry.answers:
        for position, query in enumerate(queries):
            if query.id != str(position):
                raise DataError(f"{entry.id}: question {position} has the id {query.id!r}, not its number")
        topics = (f"{' '.join(query.text.split())}\t{list(query.answers)!r}\n" for query in queries)
    else:
        topics = (f"{query.id}\t{' '.join(query.text.split())}\n" for query in queries)
    written = [_write(root / "topics" / f"topics.{entry.topics[0]}.txt", topics)]
    for name in entry.qrels:
        rows = reading.judgement_rows(_library(entry, "qrels"))
        lines = (f"{row.query} 0 {row.document} {row.grade}\n" for row in rows)
        written.append(_write(root / "qrels" / f"qrels.{name}.txt", lines))
    return written


def _json(row: dict[str, str]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _write(path: Path, rows: Iterable[str]) -> Path:
    """Write ``rows`` beside ``path`` and move them into place once all of them are there."""
    with _beside(path) as partial:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(rows)
        return partial.replace(path)


def _copy(source: Path, path: Path) -> Path:
    with _beside(path) as partial:
        shutil.copyfile(source, partial)
        return partial.replace(path)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside ``path`` to write under; nothing of that name stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
