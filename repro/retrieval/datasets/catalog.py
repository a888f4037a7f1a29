"""The catalogue of collections, catalog.yaml, e.g. ``beir/scifact/test``, and published digests."""

import functools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from repro.errors import check_known, unknown
from repro.machine.bounded_reading import read_facts

FOLDS = FITTING, VALIDATION = "fitting", "validation"
EVERY = 11  # one in 11 queries is held out


class Document(NamedTuple):
    id: str
    title: str
    text: str
    url: str = ""


class Query(NamedTuple):
    """A topic. ``answers`` are accepted strings if the dataset is judged by answers."""

    id: str
    text: str
    answers: tuple[str, ...] = ()


class Judgement(NamedTuple):
    """One line of relevance judgements. Grades may be negative."""

    query: str
    document: str
    grade: int


def in_fold(query: str, fold: str | None) -> bool:
    """Return whether a query id belongs to a fold. None contains every query."""
    if fold is None:
        return True
    return (zlib.crc32(query.encode()) % EVERY == 0) == (fold == VALIDATION)


PIECES = ("documents", "queries", "qrels", "triples", "negatives")
WORDS = {piece: piece for piece in PIECES} | {"qrels": "judgements"}
DERIVED_FIELDS = ("id", "corpus_id", "pieces", "counts")
INHERITED = ("licence", "source", "version", "ignore_identical_ids", "answers", "how")
FILE = Path(__file__).with_name("catalog.yaml")
PUBLISHED = FILE.with_name("published_rows.yaml")


@dataclass(frozen=True)
class Dataset:
    """A collection of the catalogue: a corpus, topics over a corpus, or both (as in ir_datasets).

    Attributes:
        corpus_id: id of the collection with its documents.
        pieces: those of ``PIECES`` that the entry itself has.
        counts: records of each piece in the papers, if known.
        split: its qrels file in a BEIR folder, e.g. "test".
        fold: part of the split's queries, "fitting" or "validation".
        judgements: "qrels", or "answers" if strings found in passages decide.
        source: "ir_datasets", "datasets", "web" (``address``), "embedded" or "none" (see ``how``).
        size: bytes to download.
        file: path of documents, triples or negatives, without suffix.
        topics, qrels: stems of files such as ``topics/topics.<stem>.txt``, best first.
        at: scale -> id of the substitute, e.g. {"tiny": "tiny/passage/dev"}.
        queries_of: id of the queries of triples or negatives.
        members: ids that its scores are averaged over.
        parts: ids that it concatenates.
    """

    id: str
    title: str
    licence: str
    source: str
    corpus_id: str
    pieces: tuple[str, ...]
    version: str = "1"
    counts: Mapping[str, int] = field(default_factory=dict)
    split: str | None = None
    fold: str | None = None
    judgements: str | None = None
    answers: bool = False
    ignore_identical_ids: bool = False
    how: str = ""
    hub: str = ""
    address: str = ""
    md5: str | None = None
    size: int | None = None
    file: str = ""
    topics: tuple[str, ...] = ()
    qrels: tuple[str, ...] = ()
    addresses: bool = False
    at: Mapping[str, str] = field(default_factory=dict)
    queries_of: str | None = None
    members: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def components(self) -> tuple[str, ...]:
        return self.members or self.parts

    @property
    def only_negatives(self) -> bool:
        """Whether the entry contains only triples or listed negatives."""
        return not {"triples", "negatives"}.isdisjoint(self.pieces)

    @property
    def what(self) -> str:
        """The kind of collection, e.g. "corpus and topics with qrels"."""
        if self.members:
            return f"mean of {len(self.members)}"
        if self.only_negatives:
            return "negatives"
        topics = f"topics with {self.judgements}" if "queries" in self.pieces else ""
        return " and ".join(filter(None, ["corpus" if "documents" in self.pieces else "", topics]))


ENTRY_KEYS = (*PIECES, "piece", "short", *(f.name for f in fields(Dataset) if f.name not in DERIVED_FIELDS))


@functools.cache
def catalog() -> dict[str, Dataset]:
    """Return all datasets by id, corpora first."""
    datasets = {each.id: each for entry in read_facts(FILE)["collections"] for each in _collections(entry)}
    for collection in list(datasets.values()):
        datasets.update(_with_substitutes(collection, datasets))
    return datasets


def dataset(id: str) -> Dataset:
    """Return a dataset of the catalogue. Raises UsageError for an unknown id."""
    if id not in catalog():
        raise unknown("dataset", id, catalog(), hint="`repro data list` lists them.")
    return catalog()[id]


def _collections(entry: Mapping) -> Iterator[Dataset]:
    corpus, title = entry["id"], entry["title"]
    shared_facts = {key: value for key, value in entry.items() if key not in ("id", "splits", "members")}
    members = entry.get("members", {})
    yield _dataset(corpus, corpus, {**shared_facts, "members": tuple(f"{corpus}/{name}" for name in members)})
    for name, facts in members.items():
        member = {**shared_facts, "title": f"{title}: {name}", **facts}
        yield _dataset(f"{corpus}/{name}", f"{corpus}/{name}", member)
    inherited_facts = {key: value for key, value in shared_facts.items() if key in INHERITED}
    for name, facts in entry.get("splits", {}).items():
        split = {**inherited_facts, "title": f"{title}: {name}", "split": name, **facts}
        yield _dataset(f"{corpus}/{name}", corpus, split)


def _dataset(id: str, corpus_id: str, entry: Mapping) -> Dataset:
    facts: dict[str, Any] = dict(entry)
    check_known(f"key of {id} in {FILE}", *facts, valid=ENTRY_KEYS)
    if "fold" in facts:
        check_known("fold", facts["fold"], valid=FOLDS)
    counts = {piece: facts.pop(piece) for piece in PIECES if piece in facts}
    short_name, judgements = facts.pop("short", None), facts.pop("judgements", "qrels")
    pieces = _pieces(facts, judgements, is_corpus=id == corpus_id)
    if facts.get("members"):
        facts["split"] = None
    if "documents" in pieces:
        facts.setdefault("file", f"{id}/corpus")
    facts["qrels"] = (short_name,) if short_name else ()
    facts["topics"] = tuple(facts.get("topics", facts["qrels"]))
    facts["parts"] = tuple(facts.get("parts", ()))
    facts["counts"] = {piece: count for piece, count in counts.items() if count is not None}
    facts["judgements"] = judgements if "queries" in pieces else None
    return Dataset(id=id, corpus_id=corpus_id, pieces=pieces, **facts)


def _pieces(facts: dict, judgements: str, *, is_corpus: bool) -> tuple[str, ...]:
    piece = facts.pop("piece", None)
    if facts.get("members"):
        return ()
    if piece:
        return (piece,)
    topics = ("queries", "qrels") if judgements == "qrels" else ("queries",)
    return (("documents",) if is_corpus else ()) + (topics if "split" in facts else ())


def _with_substitutes(collection: Dataset, datasets: Mapping[str, Dataset]) -> dict[str, Dataset]:
    check_known(f"stand-in of {collection.id} in {FILE}", *collection.at.values(), valid=datasets)
    substitutes = {scale: datasets[id].members or (id,) for scale, id in collection.at.items()}
    return {
        id: replace(datasets[id], at={scale: ids[i % len(ids)] for scale, ids in substitutes.items()})
        for i, id in enumerate(collection.members)
    }


def key(dataset: str, piece: str) -> str:
    """Name a piece in records, e.g. "beir/scifact documents"."""
    return f"{dataset} {piece}"


def key_of(entry: Dataset, piece: str) -> str:
    """Return the ``key`` of a piece. Documents are named by their corpus."""
    return key(entry.corpus_id if piece == "documents" else entry.id, piece)


@functools.cache
def published() -> dict[str, dict[str, Any]]:
    """Return published_rows.yaml by ``key``, e.g. digests and grades."""
    facts = read_facts(PUBLISHED)
    return {key(dataset, piece): each for dataset, pieces in facts.items() for piece, each in pieces.items()}


def differing(rows: Mapping[str, str]) -> list[str]:
    """Return a clause for each piece (``key`` -> digest) that differs from the published rows."""
    return [
        f"the {in_words(name)} differ from the published ones (see `repro data check {name.split()[0]}`)"
        for name, digest in rows.items()
        if digest and name in published() and digest not in published()[name]["digests"]
    ]


def unpublished(rows: Mapping[str, str]) -> list[str]:
    """Return the pieces (``key`` -> digest) that are not embedded and have no published digest, in words."""
    unknown_names = [name for name, digest in rows.items() if not (digest and name in published())]
    entries = {name: catalog().get(name.split()[0]) for name in unknown_names}
    return [in_words(name) for name, entry in entries.items() if not entry or entry.source != "embedded"]


def highest_grade(dataset: str) -> int | None:
    """Return the highest grade of a dataset's published judgements, e.g. 3, or None if unknown."""
    return max(published().get(key(dataset, "qrels"), {}).get("grades", ()), default=None)


def in_words(name: str) -> str:
    """Return a key in words, e.g. "judgements of beir/scifact/test"."""
    dataset, _, piece = name.partition(" ")  # records may have other names
    return f"{WORDS.get(piece, piece)} of {dataset}"
