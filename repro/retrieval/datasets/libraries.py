"""Read records, e.g. of ``msmarco-passage``, through ir_datasets or beir, which download them."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

from repro.errors import BlockedError
from repro.machine import INSTALL, extra_of
from repro.progress import Progress
from repro.retrieval.datasets.catalog import Dataset, Document, Judgement, Query, dataset
from repro.store.disk import file_lock

BEIR_ADDRESS = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{}.zip"


def documents(id: str) -> Iterator[Document]:
    for row in _rows(id, "docs"):
        text = row.body if hasattr(row, "body") else row.text
        yield Document(row.doc_id, getattr(row, "title", "") or "", text, getattr(row, "url", "") or "")


def queries(id: str) -> Iterator[Query]:
    for row in _rows(id, "queries"):
        yield Query(row.query_id, row.text.strip(), tuple(getattr(row, "answers", ())))


def judgements(id: str) -> Iterator[Judgement]:
    for row in _rows(id, "qrels"):
        yield Judgement(row.query_id, row.doc_id, int(row.relevance))


def _rows(id: str, kind: str) -> Iterator[Any]:
    with downloading(dataset(id)):
        yield from getattr(_ir_dataset(id), f"{kind}_iter")()


def triples_file(id: str) -> Path:
    with downloading(dataset(id)):
        return Path(_ir_dataset(id).docpairs_path())


def linked_file(id: str) -> Path:
    """Return the file of a collection's ``address``, downloaded to ir_datasets' home if missing."""
    entry = dataset(id)
    with downloading(entry):
        quiet_ir_datasets()
        from ir_datasets.util import Download, RequestsDownload, home_path

        place = home_path() / entry.corpus_id / Path(entry.address).name
        return Path(Download([RequestsDownload(entry.address)], place, entry.md5).path())


def beir_folder(id: str, parent: Path) -> Path:
    """Download a BEIR collection, without checking digests, and return its folder in ``parent``."""
    name, _, member = id.removeprefix("beir/").removesuffix("/v2").partition("/")
    with downloading(dataset(id)):
        from beir import util

        return Path(util.download_and_unzip(BEIR_ADDRESS.format(name), str(parent))) / member


def beir_records(folder: Path, split: str) -> tuple[list[Document], list[Query], list[Judgement]]:
    from beir.datasets.data_loader import GenericDataLoader

    corpus, texts, qrels = GenericDataLoader(str(folder)).load(split=split)
    return (
        [Document(id, row["title"] or "", row["text"]) for id, row in corpus.items()],
        [Query(id, text.strip()) for id, text in texts.items()],
        [Judgement(query, id, grade) for query, row in qrels.items() for id, grade in row.items()],
    )


@contextlib.contextmanager
def downloading(entry: Dataset) -> Iterator[None]:
    """Convert errors of a download, or of a missing library, to a BlockedError."""
    try:
        yield
    except ImportError as error:
        library = error.name or getattr(error.__cause__, "name", None) or "a library"
        cause = f"{entry.id} is read with {library}, which is not installed"
        extra = extra_of(library)
        remedy = INSTALL.format(extra) if extra else f"python -m pip install {library}"
        raise BlockedError(cause, f"run `{remedy}`") from error
    except (OSError, RuntimeError) as error:  # of requests and ir_datasets
        if mismatch := _hash_mismatch(error):
            cause = f"the download of {entry.id} is not the expected file ({mismatch})"
            remedy = f"fetch it again, or put {entry.id} into REPRO_DATA"
            raise BlockedError(cause, remedy) from error
        reason = getattr(error, "strerror", None) or type(error).__name__
        remedy = f"check the network and the free disk space, or put {entry.id} into REPRO_DATA"
        raise BlockedError(f"{entry.id} could not be downloaded ({reason})", remedy) from error


def _hash_mismatch(error: Exception) -> str:
    from ir_datasets.util import HashVerificationError

    mirrors = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], list) else []
    causes = (str(e) for e in (error, *dict(mirrors).values()) if isinstance(e, HashVerificationError))
    cause = next(causes, "")
    return cause[:1].lower() + cause[1:]


def _ir_dataset(id: str):
    return quiet_ir_datasets().load(id)


def quiet_ir_datasets():
    """Return the module ir_datasets with its log silenced. Errors are still raised."""
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # read when tqdm is imported
    import ir_datasets

    ir_datasets.log.easy().logger().setLevel(logging.CRITICAL)
    return ir_datasets


TRIES = 3  # in a row without a byte
PAUSE = 2.0  # seconds between them
TIMEOUT = 30.0  # seconds without a byte
CHUNK = 1 << 20
PARTIAL = 206
PAST_THE_END = 416


@contextlib.contextmanager
def resumable_downloads(progress: Progress) -> Iterator[None]:
    """Let ir_datasets continue earlier processes' unfinished downloads, one process at a time."""
    from ir_datasets.util import RequestsDownload, home_path

    folder = home_path() / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    words = f"another process is downloading into {folder.parent}, waiting"
    with file_lock(folder / "lock", lambda: progress.note(words)):
        original_stream = RequestsDownload.stream
        RequestsDownload.stream = lambda request: _stream(request, folder, progress)
        try:
            yield
        finally:
            RequestsDownload.stream = original_stream


@contextlib.contextmanager
def _stream(request: Any, folder: Path, progress: Progress) -> Iterator[BinaryIO]:
    from ir_datasets.util import HashVerificationError

    name = Path(request.url).name
    partial_file = folder / f"{sha256(request.url.encode()).hexdigest()[:16]}-{name}.partial"
    _complete(request, partial_file, progress)
    try:
        with partial_file.open("rb") as file:
            yield file
    except HashVerificationError:
        partial_file.unlink()
        raise
    partial_file.unlink()


def _complete(request: Any, partial_file: Path, progress: Progress) -> None:
    from ir_datasets.lazy_libs import requests

    tries = TRIES
    while True:
        old_size = _size(partial_file)
        try:
            return _fetch_remainder(request, partial_file, progress)
        except requests().RequestException:
            tries = TRIES if _size(partial_file) > old_size else tries - 1
            if not tries:
                raise
            sleep(PAUSE)


def _fetch_remainder(request: Any, partial_file: Path, progress: Progress) -> None:
    from ir_datasets.lazy_libs import requests

    size = _size(partial_file)
    headers = {**(request.headers or {}), "Accept-Encoding": "identity", "Range": f"bytes={size}-"}
    options = {"headers": headers, "cookies": request.cookies, "stream": True, "timeout": TIMEOUT}
    with requests().get(request.url, **options) as response:
        if response.status_code == PAST_THE_END and size:
            return  # complete
        response.raise_for_status()
        offset = size if response.status_code == PARTIAL else 0
        length = response.headers.get("Content-Length")
        total = offset + int(length) if length else None
        name = f"downloading {Path(request.url).name}"
        with partial_file.open("ab" if offset else "wb") as file, progress.task(name, total) as advance:
            advance(offset)
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                advance(len(chunk))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
