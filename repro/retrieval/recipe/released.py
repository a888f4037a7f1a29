"""Verbs for encoders that others made: the checkpoint, its vectors as it wants them, the ranking."""

from dataclasses import dataclass

from repro.graph import Node
from repro.retrieval.recipe.ranking import search, search_views

SPLADE_VIEW = {  # the whole sparse vector, by the model's own head at every position
    "views": ["sparse"],
    "top_k": None,
    "positions": {"cls": True, "sep": True},
    "head": "splade",
}


@dataclass(frozen=True)
class Conventions:
    """How an encoder makes a vector of a text, and a score of two vectors.

    Attributes:
        kind: ``dense``, or ``splade``: max log(1 + ReLU) of the masked-language head over all positions; the
            first version, ``splade-sum``, has their sum.
        pooling: ``cls``, ``mean``, or ``sentence-transformers``: what modules.json lists.
        similarity: ``dot`` or ``cosine``.
        query_length, passage_length: tokens with [CLS] and [SEP].
        separator: between title and text; ``pair`` for two segments, None for the text alone.
        query_prefix, passage_prefix: put before a query, or before a passage with its title.
        precision: of encoding.
    """

    kind: str = "dense"
    pooling: str = "cls"
    similarity: str = "dot"
    query_length: int = 32
    passage_length: int = 128
    separator: str | None = " "
    query_prefix: str = ""
    passage_prefix: str = ""
    precision: str = "fp32"


def released_encoder(
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
    return released_encoder(checkpoint, revision="main", kind="cross-encoder", pooling=None, stand_in=own)


def released_ranking(
    passages: Node, topics: Node, *, models: tuple[Node, Node], conventions: Conventions, depth: int
) -> Node:
    """The ranking of passages for queries by the vectors of released encoders.

    Args:
        models: the encoder of passages and the encoder of queries, which may be one and the same.
        conventions: how they read texts and compare vectors.
    """
    is_splade = conventions.kind.startswith("splade")
    stage = "encode_views" if is_splade else "encode"
    vectors = SPLADE_VIEW | {"head": conventions.kind} if is_splade else {"pooling": conventions.pooling}
    options = {"normalize": conventions.similarity == "cosine", "precision": conventions.precision}
    lengths = conventions.passage_length, conventions.query_length
    prefixes = conventions.passage_prefix, conventions.query_prefix
    sides = {
        "passages": (models[0], passages, lengths[0], conventions.separator, prefixes[0]),
        "queries": (models[1], topics, lengths[1], "", prefixes[1]),
    }
    nodes = []
    for kind, (model, texts, length, separator, prefix) in sides.items():
        params = {"kind": kind, "length": length, "separator": separator, **options}
        if prefix:
            params["prefix"] = prefix
        nodes.append(Node(stage, params | vectors, {"model": model, "texts": texts}))
    if is_splade:
        return search_views(*nodes, depth=depth, terms=["sparse"], mode="exact", list_depth=None)
    return search(*nodes, depth=depth)
