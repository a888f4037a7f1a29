"""Functions for recipes. Each returns a node of the graph and runs nothing.

A recipe is a function ``recipe(request, *, option=…) -> Node`` in a paper's ``recipes.py``, e.g. one that
ends in ``return recipe.search(passages, topics, depth=1000)``. It returns one run, or several as ``Runs``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.errors import UsageError
from repro.graph import Node
from repro.retrieval.recipe.request import full_only, only_at
from repro.retrieval.recipe.training import (
    MLM,
    NEIGHBOURS,
    Texts,
    backbone,
    corpus,
    finetune,
    initialise,
    listed_negatives,
    official_negatives,
    pretrain,
    pretrained_like,
    qrels,
    queries,
    random_weights,
    released_or,
    sample,
    term_statistics,
    tokenize,
    tokenize_spans,
)
from repro.retrieval.training.declaration import Objective, Optimisation
from repro.stage_table import KINDS_OF_TEXTS

SPLADE_VIEW = {"views": ["sparse"], "top_k": None, "positions": {"cls": True, "sep": True}}


def encode(
    model: Node,
    texts: Texts,
    *,
    normalize: bool,
    precision: str | Mapping[str, str],
    numbers: str = "float32",
) -> tuple[Node, Node]:
    """Return two nodes, the vectors of passages and of queries. ``numbers`` is the type of the former.

    ``precision`` is the same for both or e.g. {"passages": "fp16", "queries": "fp32"}.
    """
    precisions = precision if isinstance(precision, Mapping) else dict.fromkeys(KINDS_OF_TEXTS, precision)
    pooling = {"pooling": texts.pooling, "normalize": normalize}
    params = {kind: {**pooling, "precision": precisions[kind]} for kind in KINDS_OF_TEXTS}
    if numbers != "float32":
        params["passages"]["numbers"] = numbers
    return _encode_sides("encode", (model, model), texts, params)


def search(passages: Node, topics: Node, *, depth: int) -> Node:
    """Return the run of each query's ``depth`` best passages by inner product."""
    return Node("search", {"depth": depth}, {"passages": passages, "queries": topics})


def encode_views(
    model: Node,
    texts: Texts,
    *,
    views: Sequence[str],
    normalize: bool,
    top_k: Mapping[str, int | None],
    positions: Mapping[str, bool],
    head: str,
    precision: str,
) -> tuple[Node, Node]:
    """Return two nodes, the ``views``, e.g. ["dense", "sparse"], of passages and of queries.

    ``top_k`` limits a sparse vector's values, e.g. {"passages": 128, "queries": None}. ``positions`` selects
    the special tokens that are pooled, e.g. {"cls": True, "sep": False}.
    """
    options = {"positions": dict(positions), "head": head, "precision": precision}
    params = {kind: {"normalize": normalize, "top_k": top_k[kind], **options} for kind in KINDS_OF_TEXTS}
    return _encode_sides("encode_views", (model, model), texts, params, views=list(views))


def _encode_sides(
    stage: str, models: tuple[Node, Node], texts: Texts, params: Mapping[str, Mapping[str, Any]], **first: Any
) -> tuple[Node, Node]:
    sides = (
        ("passages", texts.documents, texts.passage_length, texts.separator),
        ("queries", texts.topics, texts.query_length, ""),
    )
    passages, topics = (
        Node(
            stage,
            {"kind": kind, **first, "length": length, "separator": separator, **params[kind]},
            {"model": model, "texts": source},
        )
        for model, (kind, source, length, separator) in zip(models, sides, strict=True)
    )
    return passages, topics


def search_views(
    passages: Node, topics: Node, *, depth: int, terms: Sequence[str], mode: str, list_depth: int | None
) -> Node:
    """Return the run of an exact search by the sum of inner products of ``terms``, e.g. ["dense", "sparse"].

    ``mode`` "exact" ranks all passages, "union" the first ``list_depth`` of each view.
    """
    params = {"depth": depth, "terms": list(terms), "mode": mode, "list_depth": list_depth}
    return Node("search_views", params, {"passages": passages, "queries": topics})


def bm25(documents: Node, topics: Node, *, k1: float, b: float, multifield: bool, depth: int) -> Node:
    """Return a BM25 run over titles and texts, in two fields if ``multifield``."""
    index = Node("lucene_index", {"multifield": multifield}, {"corpus": documents})
    params = {"k1": k1, "b": b, "multifield": multifield, "depth": depth}
    return Node("bm25", params, {"index": index, "queries": topics})


def weigh_terms(model: Node, documents: Node, *, length: int, scale: float, precision: str) -> Node:
    """Return documents with each word repeated by the model's weight times ``scale``."""
    params = {"length": length, "scale": scale, "precision": precision}
    return Node("weigh_terms", params, {"model": model, "corpus": documents})


def mine(
    run: Node,
    judgements: Node,
    *,
    depth: int,
    per_query: int,
    seed: int,
    random_added: int = 0,
    documents: Node | None = None,
) -> Node:
    """Return a training set with ``per_query`` negatives, drawn from a run's first ``depth`` passages.

    ``random_added`` random ones of ``documents`` are added.
    """
    params, inputs = {"depth": depth, "per_query": per_query, "seed": seed}, {"run": run, "qrels": judgements}
    if random_added:
        if documents is None:
            raise UsageError("random_added needs `documents` to draw passages from")
        params["random_added"], inputs["corpus"] = random_added, documents
    return Node("mine", params, inputs)


def union(*training_sets: Node) -> Node:
    return Node("union", {}, {"training_sets": training_sets})


def score_pairs(
    model: Node, training_set: Node, *, texts: Texts, per_query: int, decimals: int | None, precision: str
) -> Node:
    """Return a training set with a cross-encoder's scores, cut to its first ``per_query`` negatives."""
    params = {"per_query": per_query, **_scoring_params(texts, decimals, precision)}
    inputs = {"model": model, "training_set": training_set, **texts.as_inputs()}
    return Node("score_pairs", params, inputs)


def rerank(
    model: Node, run: Node, *, texts: Texts, depth: int, keep: int, decimals: int | None, precision: str
) -> Node:
    """Return a run with its first ``depth`` passages re-ranked. Others keep their order up to ``keep``."""
    params = {"depth": depth, "keep": keep, **_scoring_params(texts, decimals, precision)}
    inputs = {"run": run, "model": model, **texts.as_inputs()}
    return Node("rerank", params, inputs)


def _scoring_params(texts: Texts, decimals: int | None, precision: str) -> dict[str, Any]:
    params = {"length": texts.passage_length, "separator": texts.separator}
    return params | {"decimals": decimals, "precision": precision}


def judged_examples(judgements: Node, *, dataset: str, negative_grade: int) -> Node:
    """Return a training set from judgements. Documents of ``negative_grade`` are the negatives."""
    params = {"dataset": dataset, "negative_grade": negative_grade}
    return Node("judged_examples", params, {"qrels": judgements})


def mine_answers(
    run: Node,
    judgements: Node,
    *,
    documents: Node,
    topics: Node,
    depth: int,
    per_query: int,
    seed: int,
    extra_positives: bool,
    score_decimals: Sequence[int] = (),
    tokenless_answers: bool = False,
) -> Node:
    """Return a training set, with top passages without an answer as hard negatives.

    Scores are rounded to each of ``score_decimals`` in turn.
    """
    params: dict[str, Any] = {"depth": depth, "per_query": per_query, "seed": seed}
    params["extra_positives"] = extra_positives
    params |= {"score_decimals": list(score_decimals)} if score_decimals else {}
    params |= {"tokenless_answers": True} if tokenless_answers else {}
    inputs = {"run": run, "qrels": judgements, "queries": topics, "corpus": documents}
    return Node("mine_answers", params, inputs)


def index_size(passages: Node, *, bytes_per_number: int, bytes_per_gb: int) -> Node:
    """Return the size of a collection's vectors in GB, of ``bytes_per_gb`` bytes each."""
    params = {"bytes_per_number": bytes_per_number, "bytes_per_gb": bytes_per_gb}
    return Node("index_size", params, {"passages": passages})


def project(
    passages: Node,
    topics: Node,
    run: Node,
    judgements: Node,
    *,
    query: str,
    candidates: int,
    perplexity: float,
    grade: int,
    seed: int,
) -> Node:
    """Project one query and its first ``candidates`` passages onto a plane by t-SNE."""
    params = {"query": query, "candidates": candidates, "grade": grade}
    params |= {"perplexity": perplexity, "seed": seed, "method": "t-sne"}
    inputs = {"passages": passages, "queries": topics, "run": run, "qrels": judgements}
    return Node("project", params, inputs)


def inspect_text(
    model: Node,
    documents: Node,
    *,
    view: Objective,
    options: Mapping[str, Any],
    title: str,
    words: int,
    length: int,
) -> Node:
    """Return a number for each of the first ``words`` words of a document, by the function ``view``."""
    params = {"view": view.identity, "options": dict(options), "title": title, "words": words}
    return Node("inspect_text", params | {"length": length}, {"model": model, "corpus": documents})


def top_passages(run: Node, documents: Node, dataset: str, *, wanted: Sequence[str], depth: int) -> Node:
    """Return a run's first passages for the queries with the texts ``wanted``."""
    inputs = {"run": run, "corpus": documents, "queries": queries(dataset), "qrels": qrels(dataset)}
    return Node("top_passages", {"queries": list(wanted), "depth": depth}, inputs)


@dataclass(frozen=True)
class Conventions:
    """How an encoder reads texts, and how vectors are compared.

    Attributes:
        kind: "dense", "splade" (max of log(1 + ReLU) of the masked-language head over positions) or
            "splade-sum".
        pooling: "cls", "mean", or "sentence-transformers" (by modules.json).
        similarity: "dot" or "cosine".
        query_length, passage_length: tokens with [CLS] and [SEP].
        separator: between title and text. "pair" makes two segments, None drops the title.
        query_prefix, passage_prefix: text before a query or a passage's title, e.g. "query: ".
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
    stand_in: Node | None = None,
) -> Node:
    """Return an encoder by its name on the hub. Below full scale ``stand_in`` replaces it."""
    params = {"name": name, "revision": revision, "kind": kind, "pooling": pooling}
    return Node("released", params, {"stand_in": stand_in} if stand_in else {})


def released_reranker_or(own: Node, checkpoint: str | None) -> Node:
    """Return a released cross-encoder, or ``own`` below full scale or without a checkpoint."""
    if checkpoint is None:
        return own
    return released_encoder(checkpoint, revision="main", kind="cross-encoder", pooling=None, stand_in=own)


def released_ranking(
    passages: Node, topics: Node, *, models: tuple[Node, Node], conventions: Conventions, depth: int
) -> Node:
    """Rank passages by released ``models``: one for passages and one for queries."""
    is_splade = conventions.kind.startswith("splade")
    stage = "encode_views" if is_splade else "encode"
    vectors = SPLADE_VIEW | {"head": conventions.kind} if is_splade else {"pooling": conventions.pooling}
    options = {"normalize": conventions.similarity == "cosine", "precision": conventions.precision}
    prefixes = {"passages": conventions.passage_prefix, "queries": conventions.query_prefix}
    params = {
        kind: options | ({"prefix": prefix} if prefix else {}) | vectors for kind, prefix in prefixes.items()
    }
    texts = Texts(
        documents=passages,
        topics=topics,
        query_length=conventions.query_length,
        passage_length=conventions.passage_length,
        separator=conventions.separator,
    )
    nodes = _encode_sides(stage, models, texts, params)
    if is_splade:
        return search_views(*nodes, depth=depth, terms=["sparse"], mode="exact", list_depth=None)
    return search(*nodes, depth=depth)
