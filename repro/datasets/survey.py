"""Lists which collections of the catalogue are at hand, and checks that they are the right ones."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.datasets import reading
from repro.datasets.catalog import Dataset, catalog, dataset
from repro.datasets.digests import file_sha256
from repro.datasets.source import MissingPiece, Source
from repro.datasets.sources import locate
from repro.errors import DataError, ReproError

READERS = {
    "documents": reading.documents,
    "queries": reading.queries,
    "qrels": reading.judgement_rows,
    "triples": reading.triples,
    "negatives": reading.negatives,
}
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Row:
    """One id for a table: ``state`` is "embedded", "found", "partly" or "missing"; ``where`` its files."""

    id: str
    title: str
    what: str
    state: str
    where: tuple[str, ...]
    counts: Mapping[str, int]
    size: int | None
    licence: str


def survey(data_root: Path | None, home: Path | None = None) -> list[Row]:
    """A row for every id of the catalogue, in its order; nothing is read but file names."""
    return [_row(entry, data_root, home) for entry in catalog().values()]


def check(data_root: Path | None, ids: Iterable[str] = (), *, home: Path | None = None) -> list[ReproError]:
    """Read collections in full, without ids all that are at hand, and return an error for each fault.

    Counts are compared with the catalogue's, files with the SHA256SUMS of the data folder where it names
    them. A named collection that is missing is a BlockedError. Raises UsageError for an unknown id.
    """
    entries = [dataset(id) for id in ids]
    is_named = bool(entries)
    problems: list[ReproError] = []
    for source in _sources(entries or list(catalog().values()), data_root, home):
        if isinstance(source, MissingPiece):
            if is_named:
                problems.append(source.error())
            continue
        try:
            for _ in READERS[source.piece](source):
                pass
        except DataError as error:
            problems.append(error)
        if data_root is not None:
            problems += map(DataError, _sum_problems(source, data_root))
    return list({str(problem): problem for problem in problems}.values())


def _sources(
    entries: Iterable[Dataset], data_root: Path | None, home: Path | None
) -> Iterator[Source | MissingPiece]:
    for entry in entries:
        if entry.members:
            yield from _sources([dataset(member) for member in entry.members], data_root, home)
        else:
            yield from (locate(entry.id, piece, data_root, home=home) for piece in entry.pieces)


def _row(entry: Dataset, data_root: Path | None, home: Path | None) -> Row:
    sources = list(_sources([entry], data_root, home))
    located_sources = [source for source in sources if isinstance(source, Source)]
    if entry.source == "embedded":
        state = "embedded"
    elif len(located_sources) == len(sources):
        state = "found"
    else:
        state = "partly" if located_sources else "missing"
    paths = tuple(dict.fromkeys(str(path) for source in located_sources for path in _files(source)))
    return Row(entry.id, entry.title, entry.what, state, paths, entry.counts, entry.size, entry.licence)


def _files(source: Source) -> Iterator[Path]:
    yield from source.files
    for part in source.parts:
        yield from _files(part)


def _sum_problems(source: Source, root: Path) -> Iterator[str]:
    sums = root / SUMS
    if not sums.is_file():
        return
    stated_digests = {}
    for line in sums.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition(" ")
        stated_digests[(root / name.strip().removeprefix("*")).resolve()] = digest
    for path in _files(source):
        expected_digest = stated_digests.get(path.resolve())
        if expected_digest is not None and file_sha256(path) != expected_digest:
            yield f"{path}: is not the file whose sha256 {sums} states"
