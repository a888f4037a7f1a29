"""Fetches a collection into the data folder, in the layout that ``sources`` looks for."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repro.errors import BlockedError, DataError, UsageError
from repro.progress import Progress
from repro.retrieval.datasets import hub_texts, libraries, reading
from repro.retrieval.datasets.catalog import Dataset, catalog, dataset
from repro.retrieval.datasets.records import Query
from repro.retrieval.datasets.resumed import resumable_downloads
from repro.retrieval.datasets.source import Source
from repro.retrieval.datasets.sources import LIBRARIES, describe_size, fetched_with
from repro.retrieval.datasets.writing import copy, write, write_documents, write_qrels, write_queries


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
    parts = [dataset(part) for part in entry.members or entry.parts] or [dataset(fetched_with(entry))]
    _check(entry, parts, library)
    size = max((part.size for part in parts if part.size), default=None)  # forums come in one archive
    description = f"{entry.title}: {describe_size(size)} to download; {entry.licence}"

    def load(data_root: Path, progress: Progress) -> list[Path]:
        if entry.source == "datasets":
            return [hub_texts.fetch(entry, data_root, progress)]
        libraries.quiet_ir_datasets()
        with resumable_downloads(progress):
            return [path for part in parts for path in _load(part, data_root, progress, library)]

    return Offer(description, load, size, entry.licence)


def _check(entry: Dataset, parts: list[Dataset], library: str) -> None:
    if entry.source == "embedded":
        raise UsageError(f"{entry.id} is embedded and needs no fetching")
    for part in parts:
        if part.source not in LIBRARIES:
            raise BlockedError(f"{part.id} cannot be fetched ({part.licence})", part.how)
    if library not in ("", "beir") or (library and not entry.id.startswith("beir/")):
        raise UsageError(f"{entry.id} cannot be fetched with {library!r}; beir fetches what is called beir/…")


def _load(entry: Dataset, root: Path, progress: Progress, library: str) -> list[Path]:
    if entry.only_negatives:
        find = libraries.triples_file if "triples" in entry.pieces else libraries.linked_file
        return [copy(find(entry.id), root / f"{entry.file}.gz")]
    if library == "beir":
        return _load_through_beir(entry, root)
    paths = []
    if "documents" in entry.pieces:
        paths.append(
            write_documents(reading.documents(_library_source(entry, "documents")), entry, root, progress)
        )
    if entry.topics:
        paths += _write_topics(entry, root)
    elif splits := _splits(entry):
        # ir_datasets keeps the queries of all splits under the id of the corpus, as a BEIR folder does.
        paths.append(write_queries(libraries.queries(entry.id), entry, root))
        for split in splits:
            paths.append(write_qrels(reading.judgement_rows(_library_source(split, "qrels")), split, root))
    return paths


def _load_through_beir(entry: Dataset, root: Path) -> list[Path]:
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as parent:
        folder = libraries.beir_folder(entry.id, Path(parent))
        texts: dict[str, Query] = {}
        paths = []
        for split in _splits(entry):
            documents, queries, judgements = libraries.beir_records(folder, split.split or "test")
            list(reading.counted(documents, _library_source(entry, "documents")))
            list(reading.counted(queries, _library_source(split, "queries")))
            texts.update((query.id, query) for query in queries)
            paths.append(
                write_qrels(list(reading.counted(judgements, _library_source(split, "qrels"))), split, root)
            )
        paths.append(write_queries(texts.values(), entry, root))
        return [*paths, write_documents(documents, entry, root, Progress())]


def _splits(entry: Dataset) -> list[Dataset]:
    """The topics that lie in the BEIR folder of a corpus: its own, and those of its splits."""
    corpus_entries = (candidate for candidate in catalog().values() if candidate.corpus_id == entry.id)
    return [split for split in corpus_entries if "qrels" in split.pieces and not split.topics]


def _library_source(entry: Dataset, piece: str) -> Source:
    return Source(entry.id, piece, "library", entry.source, version=entry.version)


def _write_topics(entry: Dataset, root: Path) -> list[Path]:
    """Write topics and qrels as two files; the ids of questions with answers are their numbers."""
    queries = reading.queries(_library_source(entry, "queries"))
    if entry.answers:
        for position, query in enumerate(queries):
            if query.id != str(position):
                raise DataError(f"{entry.id}: question {position} has the id {query.id!r}, not its number")
        topics = (f"{' '.join(query.text.split())}\t{list(query.answers)!r}\n" for query in queries)
    else:
        topics = (f"{query.id}\t{' '.join(query.text.split())}\n" for query in queries)
    paths = [write(root / "topics" / f"topics.{entry.topics[0]}.txt", topics)]
    for name in entry.qrels:
        rows = reading.judgement_rows(_library_source(entry, "qrels"))
        lines = (f"{row.query} 0 {row.document} {row.grade}\n" for row in rows)
        paths.append(write(root / "qrels" / f"qrels.{name}.txt", lines))
    return paths
