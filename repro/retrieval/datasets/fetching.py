"""Fetch collections and checkpoints into the data folder, e.g. to ``beir/scifact``."""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from repro.errors import BlockedError, UsageError, check_known
from repro.machine.bounded_reading import lines, malformed
from repro.progress import Progress
from repro.retrieval.datasets import hub_models, libraries, reading, sources, word_lists
from repro.retrieval.datasets.catalog import Dataset, Document, Judgement, Query, catalog, dataset
from repro.retrieval.datasets.libraries import resumable_downloads
from repro.retrieval.datasets.word_lists import known_lists

MODEL = "model:"
_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")


@dataclass(frozen=True)
class Offer:
    """A download for the user to confirm. ``load(data_root, progress)`` returns the downloaded paths."""

    description: str
    load: Callable[[Path, Progress], list[Path]]
    size: int | None = None
    licence: str = ""


def offer(id: str, *, library: str = "") -> Offer:
    """Return the download of a collection, e.g. ``beir/scifact``, or of ``model:NAME``.

    ``library`` "beir" replaces ir_datasets. Raises UsageError for an id that needs no download, BlockedError
    for one without a public download. ``load`` raises BlockedError without a network, DataError for wrong
    counts.
    """
    if id.startswith(MODEL):
        return _model_offer(id.removeprefix(MODEL))
    entry = dataset(id)
    parts = [dataset(part) for part in entry.components or [sources.fetched_with(entry)]]
    _check(entry, parts, library)
    size = max((part.size for part in parts if part.size), default=None)  # forums come in one archive
    description = f"{entry.title}: {sources.describe_size(size)} to download, {entry.licence}"

    def load(data_root: Path, progress: Progress) -> list[Path]:
        if entry.source == "datasets":
            return [_fetch_text(entry, data_root, progress)]
        libraries.quiet_ir_datasets()
        with resumable_downloads(progress):
            return [path for part in parts for path in _load(part, data_root, progress, library)]

    return Offer(description, load, size, entry.licence)


def _model_offer(name: str) -> Offer:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not the name of a hub model: NAME or OWNER/NAME")

    def load(data_root: Path, progress: Progress) -> list[Path]:
        from huggingface_hub import HfApi, snapshot_download

        folder = data_root / "models" / name
        try:
            files = hub_models.wanted(HfApi().list_repo_files(name, revision="main"))
            snapshot_download(name, revision="main", local_dir=folder, allow_patterns=files)
        except Exception as error:  # the hub's errors share no class
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            remedy = f"try again with a network, or put the model's files into {folder}"
            raise BlockedError(f"the model {name} could not be fetched ({reason})", remedy) from error
        return [folder]

    return Offer(f"{name} at main: weights and tokenizer (see the licence on the hub's page)", load)


def amount(ids: Iterable[str]) -> str:
    """Describe the downloads, e.g. "6 collections (2.93 GB, and 1 of unknown size), 2 checkpoints"."""
    unique_ids = dict.fromkeys(ids)
    collections = [id for id in unique_ids if not id.startswith(MODEL)]
    checkpoints, count = len(unique_ids) - len(collections), len(collections)
    parts = [f"{count} collection{'s' * (count > 1)} ({_size(collections)})"] if count else []
    parts += [f"{checkpoints} checkpoint{'s' * (checkpoints > 1)}"] if checkpoints else []
    return ", ".join(parts)


def archives(collections: Iterable[str]) -> dict[int | str, int | None]:
    """Return bytes to download, or None if unknown, by archive (its size or id). A shared one occurs once."""
    sizes = {}
    for entry in (dataset(part) for id in collections for part in dataset(id).components or [id]):
        if entry.source not in ("none", "embedded"):
            of_corpus = dataset(entry.corpus_id).size if entry.source == "ir_datasets" else None
            size = entry.size or of_corpus
            sizes[size or entry.id] = size
    return sizes


def _size(collections: list[str]) -> str:
    sizes = archives(collections)
    known_sizes = [size for size in sizes.values() if size]
    unknown_count = len(sizes) - len(known_sizes)
    known = sources.describe_size(sum(known_sizes) or None)
    return f"{known}, and {unknown_count} of unknown size" if known_sizes and unknown_count else known


def _check(entry: Dataset, parts: list[Dataset], library: str) -> None:
    if entry.source == "embedded":
        raise UsageError(f"{entry.id} is embedded and needs no fetching")
    for part in parts:
        if part.source not in sources.LIBRARIES:
            raise BlockedError(f"{part.id} cannot be fetched ({part.licence})", part.how)
    if library not in ("", "beir") or (library and not entry.id.startswith("beir/")):
        raise UsageError(f"{library!r} cannot fetch {entry.id}, only ids such as beir/scifact")


def _load(entry: Dataset, root: Path, progress: Progress, library: str) -> list[Path]:
    if entry.only_negatives:
        find = libraries.triples_file if "triples" in entry.pieces else libraries.linked_file
        return [copy(find(entry.id), root / f"{entry.file}.gz")]
    if library == "beir":
        return _load_through_beir(entry, root)
    paths = []
    if "documents" in entry.pieces:
        documents = reading.documents(_library_source(entry, "documents"))
        paths.append(_write_documents(documents, entry, root, progress))
    if entry.topics:
        paths += _write_topics(entry, root)
    elif splits := _splits(entry):
        paths.append(_write_queries(libraries.queries(entry.id), entry, root))
        for split in splits:
            paths.append(_write_qrels(reading.judgement_rows(_library_source(split, "qrels")), split, root))
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
            rows = list(reading.counted(judgements, _library_source(split, "qrels")))
            paths.append(_write_qrels(rows, split, root))
        paths.append(_write_queries(texts.values(), entry, root))
        return [*paths, _write_documents(documents, entry, root, Progress())]


def _splits(entry: Dataset) -> list[Dataset]:
    corpus_entries = (candidate for candidate in catalog().values() if candidate.corpus_id == entry.id)
    return [split for split in corpus_entries if "qrels" in split.pieces and not split.topics]


def _library_source(entry: Dataset, piece: str) -> sources.Source:
    return sources.Source(entry.id, piece, "library", entry.source, version=entry.version)


def _write_topics(entry: Dataset, root: Path) -> list[Path]:
    queries = reading.queries(_library_source(entry, "queries"))
    if entry.answers:
        topics = (f"{' '.join(query.text.split())}\t{list(query.answers)!r}\n" for query in queries)
    else:
        topics = (f"{query.id}\t{' '.join(query.text.split())}\n" for query in queries)
    paths = [write(root / "topics" / f"topics.{entry.topics[0]}.txt", topics)]
    for name in entry.qrels:
        rows = reading.judgement_rows(_library_source(entry, "qrels"))
        lines = (f"{row.query} 0 {row.document} {row.grade}\n" for row in rows)
        paths.append(write(root / "qrels" / f"qrels.{name}.txt", lines))
    return paths


def _fetch_text(entry: Dataset, data_root: Path, progress: Progress) -> Path:
    from huggingface_hub import hf_hub_download

    place = data_root / f"{entry.file}.jsonl"
    folder, files = place.with_name(f"{place.name}.files"), list[Path]()
    try:
        commit, names = _parquet_files(entry)
        options: dict[str, Any] = {"repo_type": "dataset", "revision": commit, "local_dir": folder}
        with progress.task(f"fetching {entry.id}, files", len(names)) as advance:
            for name in names:
                files.append(Path(hf_hub_download(entry.hub, name, **options)))
                advance()
        write(place, (_json_document(document) for file in files for document in _parquet_documents(file)))
    except Exception as error:  # the hub's errors share no class
        reason = getattr(error, "strerror", None) or type(error).__name__
        remedy = "check the network and the free disk space, and run the command again to continue"
        raise BlockedError(f"{entry.id} could not be downloaded ({reason})", remedy) from error
    shutil.rmtree(folder)
    return place


def _parquet_files(entry: Dataset) -> tuple[str, list[str]]:
    from huggingface_hub import HfApi

    info = HfApi().dataset_info(entry.hub)
    pattern = f"{entry.version}/*.parquet"
    names = [file.rfilename for file in info.siblings or () if fnmatchcase(file.rfilename, pattern)]
    if not names or info.sha is None:
        raise FileNotFoundError(2, f"{entry.hub} has no files of {entry.version}")
    return info.sha, sorted(names)


def _parquet_documents(file: Path) -> Iterator[Document]:
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(file).iter_batches():
        for row in batch.to_pylist():
            yield Document(str(row["id"]), row["title"], row["text"], row.get("url") or "")


def _write_documents(documents: Iterable[Document], entry: Dataset, root: Path, progress: Progress) -> Path:
    with progress.task(f"fetching {entry.id}", entry.counts.get("documents")) as advance:

        def rows() -> Iterable[str]:
            for document in documents:
                advance()
                yield _json_document(document)

        return write(root / f"{entry.file}.jsonl", rows())


def _write_queries(queries: Iterable[Query], entry: Dataset, root: Path) -> Path:
    rows = (_json({"_id": query.id, "text": query.text}) for query in queries)
    return write(root / entry.corpus_id / "queries.jsonl", rows)


def _write_qrels(judgements: Iterable[Judgement], entry: Dataset, root: Path) -> Path:
    rows = (f"{row.query}\t{row.document}\t{row.grade}\n" for row in judgements)
    path = root / entry.corpus_id / "qrels" / f"{entry.split}.tsv"
    return write(path, ("query-id\tcorpus-id\tscore\n", *rows))


def _json_document(document: Document) -> str:
    row = {"_id": document.id, "title": document.title, "text": document.text}
    return _json({**row, "url": document.url} if document.url else row)


def write(path: Path, rows: Iterable[str]) -> Path:
    """Write lines, with their ends, to ``path`` through a temporary file, and return ``path``."""
    with _partial_file(path) as scratch:
        with scratch.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(rows)
        return scratch.replace(path)


def copy(source: Path, path: Path) -> Path:
    with _partial_file(path) as scratch:
        shutil.copyfile(source, scratch)
        return scratch.replace(path)


def _json(row: dict[str, str]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.partial")
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


TITLED = "msmarco-passage/rocketqa"


def make(name: str, files: Sequence[Path], data_root: Path, progress: Progress) -> Path:
    """Build RocketQA's titled passages, or a list of words, from ``files`` and return its path.

    Raises UsageError for another name, DataError for wrong files or counts.
    """
    check_known("collection or list to make", name, valid=(TITLED, *known_lists()))
    if name != TITLED:
        return write(data_root / name, (f"{word}\n" for word in word_lists.make(name, files)))
    if len(files) != 2:
        raise UsageError(f"{TITLED} needs two files, para.txt and para.title.txt, not {len(files)}")
    entry = dataset(TITLED)
    source = sources.Source(entry.id, "documents", "folder", "jsonl", (files[0],), version=entry.version)
    return _write_documents(reading.counted(documents(*files), source), entry, data_root, progress)


def documents(texts: Path, titles: Path) -> Iterator[Document]:
    """Yield para.txt's passages, with titles by number. Raises DataError for unsorted or malformed lines."""
    titles_by_number = {number: title for _, number, title in _rows(titles)}
    previous_number = -1
    for line, number, text in _rows(texts):
        if number <= previous_number:
            reason = f"passage {number} follows {previous_number}. Sort the lines by `sort -n`."
            raise malformed(texts, line, reason)
        previous_number = number
        yield Document(str(number), titles_by_number.get(number, ""), text)


def _rows(path: Path) -> Iterator[tuple[int, int, str]]:
    for line, content in lines(path):
        number, tab, text = content.partition("\t")
        if not (tab and number.isascii() and number.isdecimal()) or "\t" in text:
            raise malformed(path, line, "is not a number and a text separated by a tab")
        yield line, int(number), text.strip()
