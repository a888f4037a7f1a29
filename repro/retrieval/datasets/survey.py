"""List the collections on this machine, and compare them with the published ones."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro.errors import DataError, ReproError
from repro.retrieval.datasets import digests, reading
from repro.retrieval.datasets.catalog import Dataset, Judgement, catalog, dataset, in_words, key, published
from repro.retrieval.datasets.sources import MissingPiece, Source, locate

NAMES = {"documents": "ids", "queries": "ids", "qrels": "pairs of a query and a document"}


@dataclass(frozen=True)
class Row:
    """A row of `repro data list`. ``state`` is "embedded", "found", "partly" or "missing"."""

    id: str
    title: str
    what: str
    state: str
    where: tuple[str, ...]
    counts: Mapping[str, int]
    size: int | None
    licence: str


def survey(data_root: Path | None, home: Path | None = None) -> list[Row]:
    """Return a row per id of the catalogue. Looks only at file names."""
    return [_row(entry, data_root, home) for entry in catalog().values()]


@dataclass(frozen=True)
class Piece:
    """A piece read in full, with the facts of ``summary`` and the problems found."""

    dataset: str
    piece: str
    facts: Mapping[str, Any]
    problems: tuple[ReproError, ...]

    def as_json(self) -> dict[str, Any]:
        place = {"dataset": self.dataset, "piece": self.piece}
        return {**place, **self.facts, "problems": list(map(str, self.problems))}


def check(data_root: Path | None, ids: Iterable[str] = (), *, home: Path | None = None) -> list[Piece]:
    """Read collections in full, by default all found ones, and compare them with the published ones.

    Raises UsageError for an unknown id. A missing piece has a BlockedError as problem.
    """
    entries = [dataset(id) for id in ids]
    sources = dict.fromkeys(_sources(entries or list(catalog().values()), data_root, home))
    return [_check_source(source) for source in sources if entries or isinstance(source, Source)]


def problems_of(pieces: Iterable[Piece]) -> list[ReproError]:
    """Return the problems of pieces without duplicates, as pieces often share files."""
    return list({str(problem): problem for piece in pieces for problem in piece.problems}.values())


def _check_source(source: Source | MissingPiece) -> Piece:
    if isinstance(source, MissingPiece):
        return Piece(source.dataset, source.piece, {}, (source.error(),))
    facts: Mapping[str, Any] = {}
    sentence = ""
    try:
        if source.piece in ("triples", "negatives"):
            deque(getattr(reading, source.piece)(source), maxlen=0)
        else:
            facts = summary(source)
            sentence = problem(source, facts)
    except DataError as error:
        sentence = str(error)
    return Piece(source.dataset, source.piece, facts, (DataError(sentence),) if sentence else ())


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
    located = [source for source in sources if isinstance(source, Source)]
    state = "partly" if located else "missing"
    if len(located) == len(sources):
        state = "embedded" if entry.source == "embedded" else "found"
    paths = tuple(dict.fromkeys(str(path) for source in located for path in digests.files(source)))
    return Row(entry.id, entry.title, entry.what, state, paths, entry.counts, entry.size, entry.licence)


def summary(source: Source) -> dict[str, Any]:
    """Return digests of a source's rows and ids, and counts, e.g. ``grades``. Raises DataError."""
    content, names, titled, grades = digests.ContentDigest(), digests.ContentDigest(), 0, Counter[int]()
    for row in reading.rows(source):
        content.add(row)
        if isinstance(row, Judgement):
            names.add(row[:2])
            grades[row.grade] += 1
        else:
            names.add(row["id"])
            titled += bool(row.get("title"))
    facts: dict[str, Any] = {"digest": content.hexdigest(), "names": names.hexdigest()[:16]}
    if source.piece == "qrels":
        return facts | {"grades": dict(sorted(grades.items()))}
    return facts | {"titled": titled} if source.piece == "documents" else facts


def problem(source: Source, facts: Mapping[str, Any]) -> str:
    """Describe how a ``summary`` differs from the published rows, or return ""."""
    name = key(source.dataset, source.piece)
    known = published().get(name)
    if known is None or facts["digest"] in known["digests"]:
        return ""
    difference = _difference(source, facts, known)
    return f"{source.place}the {in_words(name)} differ from the published ones: {difference}"


def _difference(source: Source, facts: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if facts["names"] != known["names"]:
        return f"other {NAMES[source.piece]}"
    if source.piece == "qrels":
        return f"{_counts(facts['grades'])}, published {_counts(known['grades'])}"
    if facts.get("titled") != known.get("titled"):
        return f"{facts['titled']:,} have a title, published {known['titled']:,}"
    return "the same ids with other texts"


def _counts(grades: Mapping[int, int]) -> str:
    return ", ".join(f"{count:,} of grade {grade}" for grade, count in grades.items())
