"""Holds rows at hand against what the published collections say, by digest.

``published_rows.yaml`` has what ``summary`` gives of each piece, as the JSON of `repro data check` has it, by
the id of the dataset and the name of the piece; of what was published in several spellings several digests.
"""

import functools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro.machine.bounded_reading import read_facts
from repro.retrieval.datasets import reading
from repro.retrieval.datasets.catalog import WORDS, Dataset, catalog
from repro.retrieval.datasets.digests import ContentDigest
from repro.retrieval.datasets.records import Judgement
from repro.retrieval.datasets.sources import Source

FILE = Path(__file__).with_name("published_rows.yaml")
NAMES = {"documents": "ids", "queries": "ids", "qrels": "pairs of a query and a document"}


@functools.cache
def published() -> dict[str, dict[str, Any]]:
    """Return what is known of published rows, by ``key``."""
    facts = read_facts(FILE)
    return {key(dataset, piece): each for dataset, pieces in facts.items() for piece, each in pieces.items()}


def key(dataset: str, piece: str) -> str:
    """Return the name of a piece of data in records, as "beir/scifact documents"."""
    return f"{dataset} {piece}"


def key_of(entry: Dataset, piece: str) -> str:
    """Return the key of a piece that a dataset, or for documents its corpus, has."""
    return key(entry.corpus_id if piece == "documents" else entry.id, piece)


def differing(rows: Mapping[str, str]) -> list[str]:
    """Return a sentence for each piece whose rows are not those that its makers publish.

    Args:
        rows: digests by ``key``, as records have them; empty where an artefact does not say.
    """
    others = (name for name, digest in rows.items() if digest and name in published())
    return [
        f"the {in_words(name)} are not as published; `repro data check {name.split()[0]}` says what differs"
        for name in others
        if rows[name] not in published()[name]["digests"]
    ]


def unknown(rows: Mapping[str, str]) -> list[str]:
    """Return the pieces that nothing holds against a known digest, as "documents of msmarco-passage".

    What is embedded is generated, and its fingerprint follows from its rows.
    """
    return [
        in_words(name)
        for name, digest in rows.items()
        if not (digest and name in published()) and not _is_embedded(name)
    ]


def highest_grade(dataset: str) -> int | None:
    """Return the highest grade of the judgements that a dataset publishes; None where that is not known."""
    return max(published().get(key(dataset, "qrels"), {}).get("grades", ()), default=None)


def summary(source: Source) -> dict[str, Any]:
    """Read documents, queries or judgements in full, and return what is held against what is published.

    ``digest`` of all rows, ``names`` of their ids alone, of documents how many have a title, of judgements
    how many have each grade. Raises DataError as ``reading.documents`` does.
    """
    content, names, titled, grades = ContentDigest(), ContentDigest(), 0, Counter[int]()
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
    """Return in what rows of this ``summary`` differ from the published ones; empty where they do not."""
    name = key(source.dataset, source.piece)
    known = published().get(name)
    if known is None or facts["digest"] in known["digests"]:
        return ""
    place = f"{source.files[0]}: " if source.files else ""
    return f"{place}the {in_words(name)} are not those published: {_difference(source, facts, known)}"


def _difference(source: Source, facts: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if facts["names"] != known["names"]:
        return f"their {NAMES[source.piece]} are others"
    if source.piece == "qrels":
        return f"{_counts(facts['grades'])}, published {_counts(known['grades'])}"
    if facts.get("titled") != known.get("titled"):
        return f"{facts['titled']:,} have a title, published {known['titled']:,}"
    return "the ids are the same, but not the texts"


def _counts(grades: Mapping[int, int]) -> str:
    return ", ".join(f"{count:,} of grade {grade}" for grade, count in grades.items())


def in_words(name: str) -> str:
    """Return a key as "judgements of beir/scifact/test"."""
    dataset, _, piece = name.partition(" ")  # of a record, in which anything may stand
    return f"{WORDS.get(piece, piece)} of {dataset}"


def _is_embedded(name: str) -> bool:
    entry = catalog().get(name.split()[0])
    return entry is not None and entry.source == "embedded"
