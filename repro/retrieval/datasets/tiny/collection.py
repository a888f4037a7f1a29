"""The form of every embedded collection: documents, and splits of questions with judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from repro.retrieval.datasets.records import Document, Judgement, Query
from repro.retrieval.datasets.tiny.draw import Draw
from repro.retrieval.datasets.tiny.words import Concept
from repro.retrieval.datasets.tiny.world import Deed, agreement


@dataclass(frozen=True)
class Topics:
    """Questions of one split; no judgements where answers decide."""

    queries: tuple[Query, ...]
    judgements: tuple[Judgement, ...] = ()


@dataclass(frozen=True)
class Collection:
    """One embedded collection, its documents in an order that says nothing about splits."""

    documents: tuple[Document, ...]
    topics: Mapping[str, Topics] = field(default_factory=dict)


def shuffled_ids(draw: Draw, n: int, *, first: int) -> list[str]:
    """The numbers from ``first`` on, one for each of ``n`` deeds, in random order."""
    return [str(first + i) for i in draw.sample(range(n), n)]


def in_id_order(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Documents by number, which undoes their order by split."""
    return tuple(sorted(documents, key=lambda document: int(document.id)))


def graded_judgements(
    query: str,
    concepts: Mapping[str, Concept],
    world: Mapping[str, Sequence[Deed]],
    draw: Draw,
    *,
    top: int,
    others: int,
) -> list[Judgement]:
    """Graded judgements by meaning: ``top`` for all ``concepts``, one less for each that the document lacks.

    Every document of grade 2 or more is judged, and up to ``others`` each of grade 1 and of grade 0 (which
    agree in something, too). ``world`` gives the deeds a document tells: its best one counts.
    """
    grades: dict[int, list[str]] = {}
    for document, deeds in world.items():
        best = max(agreement(concepts, deed) for deed in deeds)
        if best:
            grades.setdefault(max(0, top - (len(concepts) - best)), []).append(document)
    rows = []
    for grade, documents in sorted(grades.items(), reverse=True):
        sample = documents if grade > 1 else draw.sample(documents, min(others, len(documents)))
        rows += [Judgement(query, document, grade) for document in sorted(sample, key=int)]
    return rows
