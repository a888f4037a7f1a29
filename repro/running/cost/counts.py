"""Counts the things by which facts.yaml tells the seconds and bytes of a stage."""

import functools
from collections.abc import Callable
from pathlib import Path

from repro.graph import Node
from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping
from repro.retrieval.datasets.catalog import catalog
from repro.running.cost import shapes

LINE = 47  # bytes of a line of a run, 43 as measured, and of its raw score
NEGATIVE = 11  # bytes of a passage's id in a training set
PAIR = 19  # the same with its score


def core_seconds(node: Node) -> float | None:
    """Seconds of one core that a node takes besides what a model does; None where a count is missing."""
    facts = facts_of(node).items()
    parts = [_product(_COUNTS[name](node), fact.seconds) for name, fact in facts if fact.seconds]
    return None if None in parts else sum(parts, 0.0)


def bytes_beside(node: Node, stored: float | None) -> float:
    """Bytes on the disk besides the artefact's own while it is made, as far as they are known."""
    total = 0.0
    for name, fact in facts_of(node).items():
        total += (fact.copies - 1) * (stored or 0) + min(fact.further, stored or 0)
        total += fact.beside * (_COUNTS[name](node) or 0) if fact.beside else 0.0
    return total


def light_bytes(node: Node) -> float | None:
    """Bytes of the artefact of a stage without a model; 0 for small ones, None where a count is missing."""
    for name, fact in facts_of(node).items():
        if fact.bytes is not None:
            return _product(_COUNTS[name](node), fact.bytes)
    return _BYTES.get(node.stage, lambda _: 0.0)(node)


def text_bytes(node: Node) -> float | None:
    """Bytes of the words of the documents that a node's texts come from."""
    return _product(shapes.text_words(node), shapes.CHARACTERS)


def _token_bytes(node: Node) -> float | None:
    return _product(shapes.text_words(node), shapes.TOKENS_PER_WORD * 4)  # int32


def _ranking_bytes(node: Node) -> float | None:
    return _product(_ranking_lines(node), LINE)


def _negative_bytes(node: Node) -> float | None:
    return _product(_negatives(node), NEGATIVE)


def _parent_bytes(node: Node) -> float | None:
    parts = [light_bytes(parent) for parent in node.parents()]
    return None if None in parts else sum(parts)


def _pairs_with_passages(node: Node) -> float | None:
    return _product(shapes.queries(node), shapes.texts(node))


def _negatives(node: Node) -> float | None:
    each = (node.params.get("per_query") or 0) + (node.params.get("random_added") or 0)
    return _product(shapes.queries(node), each)


def _triples(node: Node) -> float | None:
    entry = catalog().get(node.params["dataset"])
    return node.params.get("first") or (entry.counts.get("triples") if entry else None)


def _ranking_lines(node: Node) -> float | None:
    return _product(shapes.queries(node), node.params.get("depth"))


def _weights(node: Node) -> float:
    return shapes.shape(node).all_weights


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


_COUNTS: dict[str, Callable[[Node], float | None]] = {
    "corpus": text_bytes,
    "tokenize": text_bytes,
    "tokenize-spans": text_bytes,
    "lucene_index": text_bytes,
    "bm25": _pairs_with_passages,
    "bm25-hits": _ranking_lines,
    "official_negatives": _triples,
    "mine": _negatives,
    "mine_answers": _ranking_lines,
    "search_views": _ranking_lines,
    "pretrain": _weights,
    "finetune": _weights,
}

_BYTES: dict[str, Callable[[Node], float | None]] = {
    "corpus": text_bytes,
    "tokenize": _token_bytes,
    "bm25": _ranking_bytes,
    "official_negatives": _negative_bytes,
    "union": _parent_bytes,
}


class Fact(StrictMapping):
    """The facts of a stage.

    Attributes:
        of: what is counted.
        seconds: of one core, for each.
        bytes: of the artefact, for each; None where a formula tells them.
        copies: of the artefact on the disk while it is written, itself among them.
        further: bytes that lie beside the artefact while it is written, or as many as it has if that is less.
        beside: bytes that lie beside the artefact while it is made, for each.
        source: where the numbers are from.
    """

    of: str
    seconds: float = 0.0
    bytes: float | None = None
    copies: float = 1.0
    further: float = 0.0
    beside: float = 0.0
    source: str


@functools.cache
def facts() -> dict[str, Fact]:
    """The facts by stage; of a variation of a stage under a name of its own."""
    return yaml_file.read(Path(__file__).with_name("facts.yaml"), dict[str, Fact])


def facts_of(node: Node) -> dict[str, Fact]:
    """The facts of a node's stage by name; none where its work is a model's alone, or too small to count."""
    spans = node.stage == "tokenize" and node.params.get("policy") == "spans"
    names = {"tokenize": ["tokenize-spans" if spans else "tokenize"], "bm25": ["bm25", "bm25-hits"]}
    return {name: facts()[name] for name in names.get(node.stage, [node.stage]) if name in facts()}
