"""Find the files of a collection's pieces, e.g. its queries, by their names alone.

A data folder (REPRO_DATA) has BEIR folders, e.g. ``beir/scifact/corpus.jsonl``, ``queries.jsonl`` and
``qrels/test.tsv``. Other judgements and topics are ``qrels/qrels.<short>.txt`` and
``topics/topics.<short>.txt``. Files may be packed as .gz or .xz.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import BlockedError, DataError, UsageError, unknown
from repro.locations import data_folder
from repro.machine.bounded_reading import container, read_facts
from repro.retrieval.datasets.catalog import PIECES, Dataset, dataset


@dataclass(frozen=True)
class Source:
    """One located piece of a collection.

    Attributes:
        dataset: id in the catalogue. Documents have the id of their corpus.
        kind: "embedded", "folder" (data folder), "home" (of ir_datasets), "library" (to be downloaded),
            "parts" (concatenated) or "absent" (a set judged by answers has no qrels).
        format: the files' format, e.g. "beir", "trec" or a form of homes.yaml, or the library's name.
        files: the files to read. A second file of queries has the qrels of the split.
    """

    dataset: str
    piece: str
    kind: str
    format: str = ""
    files: tuple[Path, ...] = ()
    parts: tuple[Source, ...] = ()
    version: str = "1"

    @property
    def stated_identity(self) -> str:
        """The identity of data without files, e.g. "library:beir/scifact:qrels:1"."""
        return f"{self.kind}:{self.dataset}:{self.piece}:{self.version}"

    @property
    def place(self) -> str:
        """The first file as the beginning of an error message, e.g. "corpus.jsonl: "."""
        return f"{self.files[0]}: " if self.files else ""

    def to_json(self) -> dict[str, Any]:
        files, parts = [str(path) for path in self.files], [part.to_json() for part in self.parts]
        return {**vars(self), "files": files, "parts": parts}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Source:
        files, parts = tuple(map(Path, raw["files"])), tuple(map(cls.from_json, raw["parts"]))
        return cls(**{**raw, "files": files, "parts": parts})


@dataclass(frozen=True)
class MissingPiece:
    """A piece that was not found.

    Attributes:
        cause, remedy: clauses for an error message, e.g. "run …".
        fetch: ids that `repro data fetch` downloads for it, e.g. ("beir/scifact",).
        otherwise: the remedy for parts without a download.
    """

    dataset: str
    piece: str
    cause: str
    remedy: str
    fetch: tuple[str, ...] = ()
    otherwise: str = ""

    def error(self) -> BlockedError:
        return BlockedError(self.cause, self.remedy)


PACKINGS = ("", ".gz", ".xz")
LIBRARIES = ("ir_datasets", "datasets", "web")


def locate(
    id: str, piece: str, data_root: Path | None, *, home: Path | None = None, allow_download: bool = False
) -> Source | MissingPiece:
    """Find a piece: embedded, in the data folder, in ir_datasets' ``home`` or, if allowed, by download.

    Raises UsageError if the catalogue has no such piece.
    """
    entry = _entry(id, piece)
    if piece not in entry.pieces:
        return Source(entry.id, piece, "absent", version=entry.version)
    if entry.parts:
        places: dict[str, Any] = {"data_root": data_root, "home": home, "allow_download": allow_download}
        return _join_parts(entry, piece, [locate(part, piece, **places) for part in entry.parts])
    if entry.source == "embedded":
        return Source(entry.id, piece, "embedded")
    source = _folder_source(entry, piece, data_root) or in_home(entry, piece, home)
    if source is None and allow_download and entry.source in LIBRARIES:
        return Source(entry.id, piece, "library", entry.source, version=entry.version)
    return source or _missing_piece(entry, piece, data_root)


def _entry(id: str, piece: str) -> Dataset:
    if piece not in PIECES:
        raise unknown("piece", piece, PIECES)
    entry = dataset(id)
    if entry.members:
        raise UsageError(f"{id} has no {piece}: it is the mean of {', '.join(entry.members)}")
    if piece == "documents":
        entry = dataset(entry.corpus_id)
    if piece not in entry.pieces and (piece, entry.judgements) != ("qrels", "answers"):
        raise UsageError(f"{id} has no {piece}: it is a {entry.what}")
    return entry


def describe_size(size: int | None) -> str:
    """Format the size of a download, e.g. "1.06 GB" or "size unknown"."""
    if size is None:
        return "size unknown"
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _join_parts(entry: Dataset, piece: str, sources: list[Source | MissingPiece]) -> Source | MissingPiece:
    missing = [part for part in sources if isinstance(part, MissingPiece)]
    if not missing:
        parts = tuple(part for part in sources if isinstance(part, Source))
        return Source(entry.id, piece, "parts", parts=parts, version=entry.version)
    cause, remedy, otherwise = (
        " and ".join(filter(None, (getattr(m, name) for m in missing)))
        for name in ("cause", "remedy", "otherwise")
    )
    fetch = tuple(id for m in missing for id in m.fetch)
    return MissingPiece(entry.id, piece, f"{entry.id}: {cause}", remedy, fetch, otherwise)


def _folder_source(entry: Dataset, piece: str, root: Path | None) -> Source | None:
    for format, files in () if root is None else _candidates(entry, piece, root):
        paths = [path for path in map(existing, files) if path is not None]
        if len(paths) == len(files):
            return Source(entry.id, piece, "folder", format, tuple(paths), version=entry.version)
    return None


def _candidates(entry: Dataset, piece: str, root: Path) -> list[tuple[str, list[Path]]]:
    if piece == "documents":
        return [("jsonl", [root / f"{entry.file}.jsonl"])]
    if piece in ("triples", "negatives"):
        return [(piece, [root / entry.file])]
    folder = root / entry.corpus_id
    topics = [root / "topics" / f"topics.{name}.txt" for name in entry.topics]
    qrels = [root / "qrels" / f"qrels.{name}.txt" for name in entry.qrels]
    beir = folder / "qrels" / f"{entry.split}.tsv"
    if piece == "qrels":
        return [("beir", [beir]), *(("trec", [path]) for path in qrels)]
    if entry.judgements == "answers":
        return [("answers", [path]) for path in topics]
    format = "answers" if entry.answers else "trec"
    return [("beir", [folder / "queries.jsonl", beir]), *((format, [path, *qrels]) for path in topics)]


def existing(path: Path) -> Path | None:
    """Return the file, plain or with .gz or .xz, or None."""
    return next(filter(Path.is_file, (path.with_name(path.name + end) for end in PACKINGS)), None)


def _missing_piece(entry: Dataset, piece: str, root: Path | None) -> MissingPiece:
    cause = f"the {piece} of {entry.id} are not in {data_folder() if root is None else root}"
    if entry.source in LIBRARIES:
        download = dataset(fetched_with(entry))
        fetching = f"run `repro data fetch {download.id}` ({describe_size(download.size)}, {entry.licence})"
        remedy = f"{fetching} or put {_layout(entry, piece)} into the data folder"
        return MissingPiece(entry.id, piece, cause, remedy, (download.id,))
    place = f"{_layout(entry, piece)} into the data folder"
    remedy = f"{entry.how} and put it as {place} ({entry.licence})"
    return MissingPiece(entry.id, piece, cause, remedy, otherwise=remedy)


def fetched_with(entry: Dataset) -> str:
    """Return the id that an entry is fetched by. Separate topics and negatives do not need the corpus."""
    return entry.id if entry.topics or entry.only_negatives else entry.corpus_id


def _layout(entry: Dataset, piece: str) -> str:
    choices = _candidates(entry, piece, Path())
    return " or ".join(" with ".join(map(Path.as_posix, files)) for _, files in choices)


FILE = Path(__file__).with_name("homes.yaml")


@functools.cache
def home_layout() -> Mapping[str, Any]:
    """Return homes.yaml: ``pieces`` by id, ``patterns`` by its beginning, ``md5`` of downloads by path."""
    return read_facts(FILE)


def in_home(entry: Dataset, piece: str, home: Path | None) -> Source | None:
    """Return the piece in ir_datasets' home, or None if it is not there."""
    layout, name = home_layout(), entry.corpus_id.removeprefix("beir/")
    patterns = (places for start, places in layout["patterns"].items() if entry.id.startswith(start))
    places: Mapping[str, Any] = layout["pieces"].get(entry.id) or next(patterns, {})
    if home is None or piece not in places:
        return None
    parts = {"id": entry.id, "name": name, "top": name.partition("/")[0], "split": entry.split}
    files = tuple(home / file.format(**parts) for file in places[piece]["files"])
    if not all(container(file).is_file() for file in files):
        return None
    return Source(entry.id, piece, "home", places[piece]["form"], files, version=entry.version)


def check_home(source: Source) -> None:
    """Raise DataError if a download in ir_datasets' home differs from its md5."""
    for file in dict.fromkeys(map(container, source.files)):
        digests = home_layout()["md5"].items()
        expected_md5 = next((md5 for place, md5 in digests if file.as_posix().endswith(place)), None)
        if expected_md5 is not None and file_digest(file, "md5") != expected_md5:
            problem = f"{file}: is not the file that ir_datasets downloads (its md5 is not {expected_md5})"
            raise DataError(f"{problem}. Remove it and run `repro data fetch {source.dataset}`.")


def file_digest(file: Path, algorithm: str = "sha256") -> str:
    """Return a file's hexadecimal digest. Raises DataError if unreadable."""
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, algorithm).hexdigest()
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
