"""Generate the embedded collections: an invented world, small enough for a CPU to train and test in minutes.

Their ids begin with ``tiny/``, e.g. ``tiny/passage``, and their content is deterministic. Texts describe the
deeds of invented people, questions use other words for them. BM25 is therefore clearly imperfect, while a
model can learn the synonyms from the training questions and the answers.
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
    """Return the collection of a corpus id. Raises KeyError for an id that is not embedded."""
    return COLLECTIONS[id]()


def documents(corpus: str) -> tuple[Document, ...]:
    """Return the documents of an embedded corpus, sorted by number."""
    return collection(corpus).documents


def queries(corpus: str, split: str) -> tuple[Query, ...]:
    """Return the questions of one split of an embedded corpus."""
    return collection(corpus).topics[split].queries


def judgements(corpus: str, split: str) -> tuple[Judgement, ...]:
    """Return the judgements of one split. Empty if answers decide."""
    return collection(corpus).topics[split].judgements
