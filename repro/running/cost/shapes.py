"""Sizes of models and collections, known without opening them."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import NormalDist

from repro.graph import Node, cached_per_node, walk
from repro.machine.bounded_reading import read_facts, read_json_file
from repro.manifest.papers import known_checkpoints
from repro.retrieval.datasets.catalog import catalog

CHARACTERS = 6  # bytes of a word with its space
TOKENS_PER_WORD = 1.35  # a guess for English
SPECIAL = 2  # [CLS] and [SEP]
FULL = ("chunk", "spans")  # without truncation
Number = float | None  # None is unknown


def added(parts: Iterable[Number]) -> Number:
    """Return the sum, or None if a part is unknown."""
    parts = list(parts)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def product(*factors: Number) -> Number:
    """Return the product, or None if a factor is unknown."""
    known = [factor for factor in factors if factor is not None]
    return math.prod(known) if len(known) == len(factors) else None


@dataclass(frozen=True)
class Shape:
    """The sizes of a BERT. The number of heads does not change its cost."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int

    @property
    def layer_weights(self) -> int:
        """Number of weights of attention (four matrices) and feed-forward networks (two)."""
        return self.layers * (4 * self.hidden**2 + 2 * self.hidden * self.intermediate)

    @property
    def all_weights(self) -> int:
        """Number of weights of layers, embeddings and 512 positions."""
        return self.layer_weights + (self.vocabulary + 512) * self.hidden


BASE = Shape(12, 768, 3072, 30522)


@cached_per_node
def shape(node: Node) -> Shape:
    """Return the sizes of a node's model, by default BERT-base's."""
    params = node.params
    if node.stage == "initialise":
        vocabulary = node.input("tokenizer").params["size"]
        return Shape(params["layers"], params["hidden_size"], params["intermediate_size"], vocabulary)
    source = params.get("source")
    names = [name for name in ("model", "stand_in") if name in node.inputs]
    if isinstance(source, dict) and source.get("kind") == "folder":
        sizes = _read_config(Path(source["path"]) / "config.json")
    else:
        sizes = shape(node.input(names[0])) if names else _named(params.get("name", ""))
    return replace(sizes, layers=params["layers"]) if "layers" in params else sizes


def _named(checkpoint: str) -> Shape:
    known = known_checkpoints().get(checkpoint)
    sizes = known.sizes if known else {}
    return Shape(*(sizes[field.name] for field in fields(Shape))) if sizes else BASE


@functools.lru_cache(maxsize=64)
def _read_config(path: Path) -> Shape:
    names = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
    try:
        config = read_json_file(path)
        return Shape(*(int(config[name]) for name in names))
    except (OSError, ValueError, LookupError, TypeError):
        return BASE


@functools.cache
def _text_sizes() -> dict:
    return read_facts(Path(__file__).with_name("lengths.yaml"))


@functools.cache
def documents(collection: str) -> Number:
    """Return the number of documents of a collection, e.g. "beir/scifact", or None."""
    entry = catalog().get(collection)
    if entry is None:
        return None
    return added(map(documents, entry.parts)) if entry.parts else entry.counts.get("documents")


@functools.cache
def words(collection: str) -> float:
    """Return the mean number of words per document."""
    by_prefix = _text_sizes()["words"]
    prefixes = [prefix for prefix in by_prefix if f"{collection}/".startswith(f"{prefix}/")]
    return by_prefix[max(prefixes, key=len)] if prefixes else _text_sizes()["other"]


@functools.cache
def all_words(collection: str) -> Number:
    """Return the number of words of a collection, or None."""
    entry, total = catalog().get(collection), _text_sizes()["total"].get(collection)
    if total or entry is None:
        return total
    if entry.parts:
        return added(map(all_words, entry.parts))
    return product(documents(collection), words(collection))


@dataclass(frozen=True)
class TextLength:
    """The number of tokens of ``queries`` or ``passages`` that a stage reads.

    ``mean`` is before truncation, ``most`` the limit after it. A unit of work has ``times`` such texts.
    """

    mean: float
    most: int
    times: int = 1
    kind: str = "passages"

    @property
    def real(self) -> float:
        """Tokens per text without padding."""
        return min(self.most, self.mean)

    @property
    def sorted(self) -> float:
        """Tokens per text with padding, if texts are sorted by length."""
        return min(self.most, self.mean * _text_sizes()["sorted"][self.kind])

    def padded(self, count: int) -> float:
        """Return the expected maximum of ``count`` log-normal lengths (quantiles of Blom 1958)."""
        spread, texts = _text_sizes()["spread"], count * self.times
        middle = math.log(self.mean) - spread**2 / 2
        place = (texts - 0.375) / (texts + 0.25)
        longest = math.exp(middle + spread * NormalDist().inv_cdf(place))
        return max(self.real, min(self.most, longest))


def texts_read(node: Node) -> list[TextLength]:
    """Return the lengths of the texts in a unit of work, e.g. of a query and its passages."""
    p, source = node.params, next(node.input(n) for n in ("tokens", "texts", "corpus") if n in node.inputs)
    name, is_full = collection(source), source.params.get("policy") in FULL
    query = _text_sizes()["queries"] * TOKENS_PER_WORD + SPECIAL
    document = math.inf if is_full or name is None else words(name) * TOKENS_PER_WORD + SPECIAL
    most, times = p.get("length") or p["passage_length"], p.get("passages_per_query", 1)
    if "query_length" in p:
        sides = {"queries": (query, p["query_length"], 1), "passages": (document, most, times)}
        return [TextLength(*side, kind) for kind, side in sides.items()]
    if p.get("kind") == "queries":
        return [TextLength(query, most, times, "queries")]
    has_query = "corpus" in node.inputs
    return [TextLength(document + has_query * query, most, times)]


@cached_per_node
def collection(node: Node) -> str | None:
    corpus = source("corpus", node)
    return corpus.params["dataset"] if corpus else None


def source(stage: str, node: Node) -> Node | None:
    """Return the first node of this stage among a node and its ancestors, or None."""
    return next((n for n in walk([node]) if n.stage == stage), None)


@cached_per_node
def texts(node: Node) -> Number:
    """Return the number of documents of the corpus that a node reads, or None."""
    corpus = source("corpus", node)
    if corpus is None:
        return None
    name, first = corpus.params["dataset"], corpus.params.get("first")
    if first is None:
        return documents(name)
    entry = catalog().get(name)
    parts = entry.parts if entry and entry.parts else (name,)
    return sum(min(first, documents(part) or first) for part in parts)


def text_words(node: Node) -> Number:
    corpus = source("corpus", node)
    if corpus is None:
        return None
    name = corpus.params["dataset"]
    return product(texts(node), words(name)) if "first" in corpus.params else all_words(name)


def rows(node: Node) -> Number:
    """Return the number of documents or chunks of a tokens artefact."""
    if node.params["policy"] != "chunk":
        return texts(node)
    whole = text_words(node)
    return None if whole is None else math.ceil(whole * TOKENS_PER_WORD / (node.params["length"] - SPECIAL))


@cached_per_node
def queries(node: Node) -> Number:
    """Return the number of queries of an artefact or its sample, or None."""
    nodes = walk([node])
    samples = [n.params for n in nodes if n.stage == "sample"]
    sample_sizes = list(filter(None, (params.get("queries") for params in samples)))
    share = math.prod(params.get("share", 1) for params in samples)
    count = _dataset_queries(nodes)
    limits = filter(None, (n.params.get("first") for n in nodes if n.stage == "queries"))
    size = min([*limits, *([count, *sample_sizes] if count else sample_sizes[:1])], default=None)
    return size if size is None or share == 1 else max(1, round(share * size))


def _dataset_queries(nodes: Sequence[Node]) -> Number:
    stages = "listed_negatives", "queries", "qrels"
    names = [n.params["dataset"] for stage in stages for n in nodes if n.stage == stage]
    entry = catalog().get(names[-1]) if names else None
    counts = catalog().get(entry.queries_of or "", entry).counts if entry else {}
    return counts.get("queries") or counts.get("qrels")
