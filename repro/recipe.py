"""The verbs of recipes: each builds a node, none runs anything, none knows the scale.

A recipe is a function ``recipe(request, *, option=…) -> Node`` in a paper's ``recipes.py``. It returns the
node whose artefact is measured: a run over ``request.dataset`` (or several, as ``Runs``). Every value a paper
leaves open comes from ``request.reading(id)``; no verb has a default for a hyper-parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repro.graph import Node


@dataclass(frozen=True)
class Objective:
    """A training objective as the fingerprint sees it, without importing it.

    ``name`` and ``version`` must be what the class at ``path`` declares; the stage checks that. Only the path
    may change freely: moving a file must not discard a pre-training.
    """

    name: str
    version: int
    path: str

    def as_param(self) -> dict:
        return {"name": self.name, "version": self.version, "path": self.path}


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


def sample(training_set: Node, *, queries: int, sample: int, method: str, seed: int) -> Node:
    """A few queries of a training set, sample by sample; ``method`` is random or block."""
    params = {"queries": queries, "sample": sample, "method": method, "seed": seed}
    return Node("sample", params, {"training_set": training_set})


def backbone(name: str, *, revision: str, stand_in: Node | None = None) -> Node:
    """A released checkpoint.

    Nothing is downloaded at other scales than full: there ``stand_in`` takes its place, the same pre-training
    done here, or without one a model of that scale.
    """
    inputs = {"stand_in": stand_in} if stand_in else {}
    return Node("backbone", {"name": name, "revision": revision}, inputs)


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
    """Texts, titled or not, as token ids in chunks or truncated; ``length`` counts special tokens.

    Documents of fewer than ``fewest_tokens`` tokens are left out.
    """
    params = {
        "length": length, "policy": policy, "titles": titles, "separator": separator,
        "fewest_tokens": fewest_tokens,
    }  # fmt: skip
    return Node("tokenize", params, {"corpus": documents, "model": model})


def term_statistics(tokens: Node, *, model: Node) -> Node:
    """How often each entry of the vocabulary occurs, and in how many texts."""
    return Node("term_statistics", {}, {"tokens": tokens, "model": model})


def pretrain(
    model: Node,
    tokens: Node,
    *,
    objective: Objective,
    options: Mapping[str, Any],
    texts_per_batch: int,
    epochs: float | None,
    max_steps: int | None,
    learning_rate: float,
    warmup_ratio: float,
    warmup_steps: int,
    schedule: str,
    weight_decay: float,
    max_grad_norm: float,
    precision: str,
    length: int,
    seed: int,
    statistics: Node | None = None,
    generator: Node | None = None,
) -> Node:
    """An encoder trained on text alone by an objective, which may need corpus statistics or another model."""
    params = {
        "objective": objective.as_param(), "options": dict(options), "texts_per_batch": texts_per_batch,
        "epochs": epochs, "max_steps": max_steps, "learning_rate": learning_rate,
        "warmup_ratio": warmup_ratio, "warmup_steps": warmup_steps, "schedule": schedule,
        "weight_decay": weight_decay, "max_grad_norm": max_grad_norm, "precision": precision,
        "length": length, "seed": seed,
    }  # fmt: skip
    others = {"statistics": statistics, "generator": generator}
    inputs = {"model": model, "tokens": tokens} | {name: node for name, node in others.items() if node}
    return Node("pretrain", params, inputs)


def finetune(
    model: Node,
    training_set: Node,
    *,
    documents: Node,
    topics: Node,
    objective: Objective,
    options: Mapping[str, Any],
    queries_per_batch: int,
    passages_per_query: int,
    epochs: float,
    max_steps: int | None,
    learning_rate: float,
    warmup_ratio: float,
    warmup_steps: int,
    schedule: str,
    weight_decay: float,
    max_grad_norm: float,
    precision: str,
    query_length: int,
    passage_length: int,
    separator: str,
    pooling: str,
    seed: int,
) -> Node:
    """An encoder trained on judged queries with negatives."""
    params = {
        "objective": objective.as_param(), "options": dict(options), "queries_per_batch": queries_per_batch,
        "passages_per_query": passages_per_query, "epochs": epochs, "max_steps": max_steps,
        "learning_rate": learning_rate, "warmup_ratio": warmup_ratio, "warmup_steps": warmup_steps,
        "schedule": schedule, "weight_decay": weight_decay, "max_grad_norm": max_grad_norm,
        "precision": precision, "query_length": query_length, "passage_length": passage_length,
        "separator": separator, "pooling": pooling, "seed": seed,
    }  # fmt: skip
    inputs = {"model": model, "training_set": training_set, "corpus": documents, "queries": topics}
    return Node("finetune", params, inputs)


def encode(
    model: Node,
    texts: Node,
    *,
    kind: str,
    length: int,
    separator: str,
    pooling: str,
    normalize: bool,
    precision: str,
) -> Node:
    """One vector a text. ``kind`` is passages or queries; queries have no title and so no separator."""
    params = {
        "kind": kind, "length": length, "separator": separator if kind == "passages" else "",
        "pooling": pooling, "normalize": normalize, "precision": precision,
    }  # fmt: skip
    return Node("encode", params, {"model": model, "texts": texts})


def search(passages: Node, topics: Node, *, depth: int) -> Node:
    """Exact inner-product search of encoded queries over encoded passages."""
    return Node("search", {"depth": depth}, {"passages": passages, "queries": topics})


def bm25(documents: Node, topics: Node, *, k1: float, b: float, multifield: bool, depth: int) -> Node:
    """A BM25 run by Lucene over titles and texts, in one field or two."""
    index = Node("lucene_index", {"multifield": multifield}, {"corpus": documents})
    params = {"k1": k1, "b": b, "multifield": multifield, "depth": depth}
    return Node("bm25", params, {"index": index, "queries": topics})


def mine(run: Node, judgements: Node, *, depth: int, per_query: int, seed: int) -> Node:
    """Hard negatives: the top of a run without its positives, ``per_query`` of them kept."""
    return Node(
        "mine", {"depth": depth, "per_query": per_query, "seed": seed}, {"run": run, "qrels": judgements}
    )


def union(*training_sets: Node) -> Node:
    """Several training sets as one: each query's negatives side by side."""
    return Node("union", {}, {"training_sets": training_sets})


def project(
    passages: Node,
    topics: Node,
    run: Node,
    judgements: Node,
    *,
    query: str,
    candidates: int,
    perplexity: float,
    seed: int,
) -> Node:
    """One query and its first candidates in a plane, by t-SNE."""
    params = {
        "query": query,
        "candidates": candidates,
        "perplexity": perplexity,
        "seed": seed,
        "method": "t-sne",
    }
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
    """What a model says of each word of one document."""
    params = {
        "view": view.as_param(),
        "options": dict(options),
        "title": title,
        "words": words,
        "length": length,
    }
    return Node("inspect_text", params, {"model": model, "corpus": documents})
