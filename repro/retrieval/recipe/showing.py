"""Verbs for figures and tables of examples, which are shown rather than measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from repro.graph import Node
from repro.retrieval.recipe.data import qrels, queries
from repro.retrieval.recipe.training import Objective


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
    """One query and its first candidates in a plane, by t-SNE."""
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
    """A number of a model's for each word of one document, as ``view`` computes it."""
    params = {"view": asdict(view), "options": dict(options), "title": title, "words": words}
    return Node("inspect_text", params | {"length": length}, {"model": model, "corpus": documents})


def top_passages(run: Node, documents: Node, dataset: str, *, wanted: Sequence[str], depth: int) -> Node:
    """The first passages of a run for queries of ``dataset`` that ``wanted`` gives by their text."""
    inputs = {"run": run, "corpus": documents, "queries": queries(dataset), "qrels": qrels(dataset)}
    return Node("top_passages", {"queries": list(wanted), "depth": depth}, inputs)
