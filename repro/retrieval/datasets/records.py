"""The three kinds of record that every collection is made of, whatever file they came from."""

from typing import NamedTuple


class Document(NamedTuple):
    """A passage or document; ``url`` is empty for collections without addresses."""

    id: str
    title: str
    text: str
    url: str = ""


class Query(NamedTuple):
    """A topic; ``answers`` are the accepted strings of an answer-judged set, else empty."""

    id: str
    text: str
    answers: tuple[str, ...] = ()


class Judgement(NamedTuple):
    """One line of relevance judgements; negative grades occur (judged and worse than irrelevant)."""

    query: str
    document: str
    grade: int
