"""Verbs for encoders that others made: the checkpoint, its vectors as it wants them, the ranking."""

from repro.graph import Node
from repro.nn.encoder_conventions import Conventions
from repro.recipe.ranking import search, search_views

SPLADE_VIEW = {  # the whole sparse vector, by the model's own head at every position
    "views": ["sparse"],
    "top_k": None,
    "positions": {"cls": True, "sep": True},
    "head": "splade",
}


def released(
    name: str,
    *,
    revision: str,
    kind: str,
    pooling: str | None,
    source: dict | None = None,
    stand_in: Node | None = None,
) -> Node:
    """A released encoder, by its name on the hub; ``source`` names a directory instead.

    At other scales than full ``stand_in`` takes its place, the same system trained here.
    """
    params = {"name": name, "revision": revision, "kind": kind, "pooling": pooling}
    inputs = {"stand_in": stand_in} if stand_in else {}
    return Node("released", params | ({"source": source} if source else {}), inputs)


def released_reranker_or(own: Node, checkpoint: str | None) -> Node:
    """A released cross-encoder with the head that scores, for which our own stands in at other scales."""
    if checkpoint is None:
        return own
    return released(checkpoint, revision="main", kind="cross-encoder", pooling=None, stand_in=own)


def ranked(
    passages: Node, topics: Node, *, models: tuple[Node, Node], conventions: Conventions, depth: int
) -> Node:
    """The ranking by released encoders of passages and queries, which may be one and the same."""
    read = conventions
    sides = (
        ("passages", passages, read.passage_length, read.separator, read.passage_prefix),
        ("queries", topics, read.query_length, "", read.query_prefix),
    )
    splade, encoded = read.kind.startswith("splade"), []
    stage, view = (
        ("encode_views", SPLADE_VIEW | {"head": read.kind})
        if splade
        else ("encode", {"pooling": read.pooling})
    )
    for model, (kind, texts, length, separator, prefix) in zip(models, sides, strict=True):
        params = {
            "kind": kind,
            "length": length,
            "separator": separator,
            "normalize": read.similarity == "cosine",
            "precision": read.precision,
            **({"prefix": prefix} if prefix else {}),
        }
        encoded.append(Node(stage, params | view, {"model": model, "texts": texts}))
    if splade:
        return search_views(*encoded, depth=depth, terms=["sparse"], mode="exact", list_depth=None)
    return search(*encoded, depth=depth)
