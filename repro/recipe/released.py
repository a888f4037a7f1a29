"""Verbs for encoders that others made: the checkpoint, its vectors as it wants them, the ranking."""

from __future__ import annotations

from repro.graph import Node
from repro.nn.encoder_conventions import Conventions
from repro.recipe.ranking import search, search_views

SPLADE_VIEW = {  # the whole sparse vector, by the model's own head at every position
    "views": ["sparse"],
    "top_k": None,
    "positions": {"cls": True, "sep": True},
    "head": "splade",
}


def released(name: str, *, revision: str, kind: str, pooling: str, source: dict | None = None) -> Node:
    """A released encoder, by its name on the hub; ``source`` names a directory instead."""
    params = {"name": name, "revision": revision, "kind": kind, "pooling": pooling}
    return Node("released", params | ({"source": source} if source else {}))


def ranked(
    passages: Node, topics: Node, *, models: tuple[Node, Node], conventions: Conventions, depth: int
) -> Node:
    """The ranking by released encoders of passages and queries, which may be one and the same."""
    sides = {
        "passages": (passages, conventions.passage_length, conventions.passage_prefix),
        "queries": (topics, conventions.query_length, conventions.query_prefix),
    }
    encoded = [
        _encoded(model, texts, conventions, kind=kind, length=length, prefix=prefix)
        for model, (kind, (texts, length, prefix)) in zip(models, sides.items(), strict=True)
    ]
    if conventions.kind == "splade":
        return search_views(*encoded, depth=depth, terms=["sparse"], mode="exact", list_depth=None)
    return search(*encoded, depth=depth)


def _encoded(
    model: Node, texts: Node, conventions: Conventions, *, kind: str, length: int, prefix: str
) -> Node:
    params = {
        "kind": kind,
        "length": length,
        "separator": conventions.separator if kind == "passages" else "",
        "normalize": conventions.similarity == "cosine",
        "precision": conventions.precision,
    }
    if prefix:
        params["prefix"] = prefix
    inputs = {"model": model, "texts": texts}
    if conventions.kind == "splade":
        return Node("encode_views", params | SPLADE_VIEW, inputs)
    return Node("encode", params | {"pooling": conventions.pooling}, inputs)
