"""The embedded collections: an invented world small enough to train and test on a processor within minutes.

Everything is generated, deterministically, when asked for; the ids are those of the catalogue that begin
with ``tiny/``. Deeds of invented people are told in one choice of words and asked for in another, so that
counting words (BM25) is clearly imperfect while the synonymy can be learnt from the training questions and
the answers.
"""

import functools
from collections.abc import Callable

from repro.retrieval.datasets.catalog import Document, Judgement, Query
from repro.retrieval.datasets.tiny import answers, passages
from repro.retrieval.datasets.tiny.passages import Collection

COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "tiny/passage": passages.passages,
    "tiny/passage-many": passages.many_passages,
    "tiny/document": passages.documents,
    "tiny/wiki": answers.wiki,
    "tiny/beir": answers.beir,
    "tiny/cqadupstack/mending": functools.partial(answers.forum, "mending"),
    "tiny/cqadupstack/travel": functools.partial(answers.forum, "travel"),
    "tiny/text": answers.articles,
    "tiny/text/books": answers.books,
}


@functools.cache
def collection(id: str) -> Collection:
    """Return the collection of this corpus id. Raises KeyError for an id that is not embedded."""
    return COLLECTIONS[id]()


def documents(corpus: str) -> tuple[Document, ...]:
    """Return the documents of an embedded corpus, in the order of their numbers."""
    return collection(corpus).documents


def queries(corpus: str, split: str) -> tuple[Query, ...]:
    """Return the questions of one split of an embedded corpus."""
    return collection(corpus).topics[split].queries


def judgements(corpus: str, split: str) -> tuple[Judgement, ...]:
    """Return the judgements of one split; empty where answers decide."""
    return collection(corpus).topics[split].judgements
