"""Finds the pieces of a collection by file names alone: no library is imported, no file is read.

A data folder (REPRO_DATA) holds a collection in a folder named after its corpus id, in BEIR format
(``corpus.jsonl``, ``queries.jsonl``, ``qrels/<split>.tsv``), or judgements and topics without their corpus as
``qrels/qrels.<short>.txt`` and ``topics/topics.<short>.txt``. Every file may be packed as .gz or .xz.
"""

from collections.abc import Iterable
from pathlib import Path

from repro.errors import UsageError, unknown
from repro.locations import data_folder
from repro.retrieval.datasets.catalog import PIECES, Dataset, dataset
from repro.retrieval.datasets.homes import in_home
from repro.retrieval.datasets.source import MissingPiece, Source

PACKINGS = ("", ".gz", ".xz")
LIBRARIES = ("ir_datasets", "datasets", "web")


def locate(
    id: str, piece: str, data_root: Path | None, *, home: Path | None = None, allow_download: bool = False
) -> Source | MissingPiece:
    """Find the source of a collection's ``piece``, one of ``PIECES``.

    Documents of a split are those of its corpus. With ``allow_download`` a library that can fetch the piece
    is a source too; without, only what is embedded or lies in the data folder, or else in ``home``, that of
    ir_datasets. Raises UsageError for an
    unknown id and for a piece which the collection does not have.
    """
    entry = _entry(id, piece)
    if piece not in entry.pieces:
        return Source(entry.id, piece, "absent", version=entry.version)
    if entry.parts:
        options = {"home": home, "allow_download": allow_download}
        return _join_parts(entry, piece, [locate(part, piece, data_root, **options) for part in entry.parts])
    if entry.source == "embedded":
        return Source(entry.id, piece, "embedded")
    source = _folder_source(entry, piece, data_root) if data_root is not None else None
    if source is None and home is not None:
        source = in_home(entry, piece, home)
    if source is None and allow_download and entry.source in LIBRARIES:
        return Source(entry.id, piece, "library", entry.source, version=entry.version)
    return source or _missing_piece(entry, piece, data_root)


def _entry(id: str, piece: str) -> Dataset:
    """The entry that has the piece, or says that answers stand in for it. Raises UsageError without one."""
    if piece not in PIECES:
        raise unknown("piece", piece, PIECES)
    entry = dataset(id)
    if entry.members:
        raise UsageError(f"{id} has no {piece}: it is the mean of {', '.join(entry.members)}")
    if piece == "documents":
        entry = dataset(entry.corpus_id)
    if piece not in entry.pieces and (piece, entry.judgements) != ("qrels", "answers"):
        raise UsageError(f"{id} has no {piece}; it is a {entry.what}")
    return entry


def describe_size(size: int | None) -> str:
    """A download in MB or GB, as "1.06 GB"; "size unknown" for None."""
    if size is None:
        return "size unknown"
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _join_parts(entry: Dataset, piece: str, sources: list[Source | MissingPiece]) -> Source | MissingPiece:
    """Join the parts of a collection into one source."""
    if missing := [part for part in sources if isinstance(part, MissingPiece)]:
        return _join_missing(entry, piece, missing)
    return Source(entry.id, piece, "parts", parts=tuple(sources), version=entry.version)


def _join_missing(entry: Dataset, piece: str, missing: list[MissingPiece]) -> MissingPiece:
    """Join the parts that are missing into one, each with its own way to get it."""
    cause, remedy = (
        " and ".join(getattr(m, attribute) for m in missing) for attribute in ("cause", "remedy")
    )
    fetch = tuple(id for m in missing for id in m.fetch)
    otherwise = " and ".join(m.otherwise for m in missing if m.otherwise)
    return MissingPiece(entry.id, piece, f"{entry.id}: {cause}", remedy, fetch, otherwise)


def _folder_source(entry: Dataset, piece: str, root: Path) -> Source | None:
    """Find the piece in the data folder; BEIR format goes before TREC format."""
    for format, files in _candidates(entry, piece, root):
        paths = [path for path in map(existing, files) if path is not None]
        if len(paths) == len(files):
            return Source(entry.id, piece, "folder", format, tuple(paths), version=entry.version)
    return None


def _candidates(entry: Dataset, piece: str, root: Path) -> Iterable[tuple[str, list[Path]]]:
    """Yield formats and their files, all of which must be there, in order of preference."""
    if piece == "documents":
        yield "jsonl", [root / f"{entry.file}.jsonl"]
    elif piece in ("triples", "negatives"):
        yield piece, [root / entry.file]
    else:
        yield from _topic_candidates(entry, piece, root)


def _topic_candidates(entry: Dataset, piece: str, root: Path) -> Iterable[tuple[str, list[Path]]]:
    folder = root / entry.corpus_id
    topics = [root / "topics" / f"topics.{name}.txt" for name in entry.topics]
    qrels = [root / "qrels" / f"qrels.{name}.txt" for name in entry.qrels]
    beir = folder / "qrels" / f"{entry.split}.tsv"
    if piece == "qrels":
        yield "beir", [beir]
        yield from (("trec", [path]) for path in qrels)
    elif entry.judgements == "answers":
        yield from (("answers", [path]) for path in topics)
    else:
        yield "beir", [folder / "queries.jsonl", beir]
        yield from (("answers" if entry.answers else "trec", [path, *qrels]) for path in topics)


def existing(path: Path) -> Path | None:
    """The file of that name, plain or packed; None where there is none."""
    return next(
        (candidate for end in PACKINGS if (candidate := path.with_name(path.name + end)).is_file()), None
    )


def _missing_piece(entry: Dataset, piece: str, root: Path | None) -> MissingPiece:
    """The piece as missing from the data folder; without one, from the folder that fetching makes."""
    folder, prefix = data_folder() if root is None else root, ""
    cause = f"the {piece} of {entry.id} are not in {folder}"
    if root is not None and not root.is_dir():
        cause = f"the {piece} of {entry.id} are not here, as REPRO_DATA names {root}, which is not a folder"
        prefix = "set REPRO_DATA to a folder, then "
    if entry.source in LIBRARIES:
        download = dataset(fetched_with(entry))
        price = f"{describe_size(download.size)}; {entry.licence}"
        command = f"{prefix}run `repro data fetch {download.id}` ({price})"
        remedy = f"{command} or lay {_layout(entry, piece)} into the data folder"
        return MissingPiece(entry.id, piece, cause, remedy, (download.id,))
    remedy = (
        f"{prefix}{entry.how} and lay it as {_layout(entry, piece)} into the data folder ({entry.licence})"
    )
    return MissingPiece(entry.id, piece, cause, remedy, otherwise=remedy)


def fetched_with(entry: Dataset) -> str:
    """The id to fetch for ``entry``: its own if its topics are separate files, else that of the corpus."""
    return entry.id if entry.topics or entry.only_negatives else entry.corpus_id


def _layout(entry: Dataset, piece: str) -> str:
    """The files that would do, relative to the data folder."""
    choices = _candidates(entry, piece, Path())
    return " or ".join(" with ".join(map(Path.as_posix, files)) for _, files in choices)
