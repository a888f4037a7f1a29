"""Verbs for texts, topics, judgements and training sets, and the texts of a training or a search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.graph import Node


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Passages and queries, and how a model reads them.

    Attributes:
        documents, topics: the corpus and the queries.
        query_length, passage_length: tokens, special ones included. A cross-encoder has no ``query_length``:
            it reads a query and a passage together, in ``passage_length`` tokens.
        separator: between title and text.
        pooling: of an encoder's token vectors to one; a cross-encoder has none.
    """

    documents: Node
    topics: Node
    passage_length: int
    separator: str
    query_length: int | None = None
    pooling: str | None = None

    def as_params(self) -> dict[str, Any]:
        """Parameters of a fine-tuning that reads these texts."""
        names = ("query_length", "passage_length", "separator", "pooling")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def as_inputs(self) -> dict[str, Node]:
        """Inputs of a stage that reads both."""
        return {"corpus": self.documents, "queries": self.topics}


def corpus(identifier: str, *, text: str = "{text}", untitled: str = "") -> Node:
    """The documents of a collection.

    ``text`` says what is read as a document's text, from its fields url and text; ``untitled`` stands for an
    empty title.
    """
    fields = {} if (text, untitled) == ("{text}", "") else {"text": text, "untitled": untitled}
    return Node("corpus", {"dataset": identifier, **fields})


def queries(identifier: str) -> Node:
    """The topics of a dataset, with answers where it is judged by answers."""
    return Node("queries", {"dataset": identifier})


def qrels(identifier: str) -> Node:
    """The judgements of a dataset."""
    return Node("qrels", {"dataset": identifier})


def official_negatives(identifier: str, *, per_query: int, seed: int, judgements: Node | None) -> Node:
    """The negatives a collection's makers distribute, sampled per query.

    With ``judgements`` the positives are theirs, all of them; without, those that the triples name.
    """
    inputs = {"qrels": judgements} if judgements else {}
    return Node("official_negatives", {"dataset": identifier, "per_query": per_query, "seed": seed}, inputs)


def listed_negatives(
    identifier: str, *, margin: float | None, per_system: int | None = None, systems: list[str] | None = None
) -> Node:
    """Negatives of several retrievers, as a public file lists them with a cross-encoder's scores.

    ``margin``: how far below the lowest score of a positive a negative has to be, or None for no such rule;
    ``per_system``: at most so many of each retriever; ``systems``: of these retrievers only. None is all.
    """
    params = {"dataset": identifier, "margin": margin, "per_system": per_system, "systems": systems}
    return Node("listed_negatives", params)


def sample(
    training_set: Node,
    *,
    sample: int,
    method: str,
    seed: int,
    queries: int | None = None,
    share: float | None = None,
) -> Node:
    """A few ``queries`` of a training set, or a ``share`` of them, sample by sample.

    ``method`` is random or block.
    """
    size = {"queries": queries} if share is None else {"share": share}
    return Node(
        "sample", size | {"sample": sample, "method": method, "seed": seed}, {"training_set": training_set}
    )


def tokenize(
    documents: Node,
    *,
    model: Node,
    length: int,
    policy: str,
    titles: bool,
    separator: str,
    fewest_tokens: int = 0,
) -> Node:
    """Texts, titled or not, as token ids, cut into chunks or truncated; ``length`` counts special tokens.

    Documents of fewer than ``fewest_tokens`` tokens are left out.
    """
    params = {"length": length, "policy": policy, "titles": titles, "separator": separator}
    params["fewest_tokens"] = fewest_tokens
    return Node("tokenize", params, {"corpus": documents, "model": model})


def tokenize_spans(
    documents: Node,
    *,
    model: Node,
    length: int,
    splitter: str,
    packing: Mapping[str, Any],
    fields: Sequence[str],
    seed: int,
) -> Node:
    """Whole documents as token ids that know their sentences, packed into spans of about ``length`` tokens.

    ``fields``, of url, title and body, are the document; ``packing`` as in ``datasets.span_packing``.
    """
    params = {"length": length, "policy": "spans", "splitter": splitter, "span_packing": dict(packing)}
    params |= {"fields": list(fields), "seed": seed}
    return Node("tokenize", params, {"corpus": documents, "model": model})


def term_statistics(tokens: Node, *, model: Node) -> Node:
    """How often each entry of the vocabulary occurs, and in how many texts."""
    return Node("term_statistics", {}, {"tokens": tokens, "model": model})
