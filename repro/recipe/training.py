"""Verbs for models: found, pre-trained, fine-tuned."""

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


def backbone(name: str, *, revision: str, stand_in: Node | None = None) -> Node:
    """A released checkpoint.

    Nothing is downloaded at other scales than full: there ``stand_in`` takes its place, the same pre-training
    done here, or without one a model of that scale.
    """
    inputs = {"stand_in": stand_in} if stand_in else {}
    return Node("backbone", {"name": name, "revision": revision}, inputs)


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
        "objective": objective.as_param(),
        "options": dict(options),
        "texts_per_batch": texts_per_batch,
        "epochs": epochs,
        "max_steps": max_steps,
        "learning_rate": learning_rate,
        "warmup_ratio": warmup_ratio,
        "warmup_steps": warmup_steps,
        "schedule": schedule,
        "weight_decay": weight_decay,
        "max_grad_norm": max_grad_norm,
        "precision": precision,
        "length": length,
        "seed": seed,
    }
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
    negative_choice: str = "window",
    positive_choice: str = "all",
) -> Node:
    """An encoder trained on judged queries with negatives.

    ``negative_choice`` and ``positive_choice`` say which of a query's passages an epoch takes: see the stage.
    """
    params = {
        "objective": objective.as_param(),
        "options": dict(options),
        "queries_per_batch": queries_per_batch,
        "passages_per_query": passages_per_query,
        "epochs": epochs,
        "max_steps": max_steps,
        "learning_rate": learning_rate,
        "warmup_ratio": warmup_ratio,
        "warmup_steps": warmup_steps,
        "schedule": schedule,
        "weight_decay": weight_decay,
        "max_grad_norm": max_grad_norm,
        "precision": precision,
        "query_length": query_length,
        "passage_length": passage_length,
        "separator": separator,
        "pooling": pooling,
        "seed": seed,
    }
    params |= _choices(negative_choice, positive_choice)
    inputs = {"model": model, "training_set": training_set, "corpus": documents, "queries": topics}
    return Node("finetune", params, inputs)


def finetune_pairs(
    model: Node,
    training_set: Node,
    *,
    documents: Node,
    topics: Node,
    objective: Objective,
    options: Mapping[str, Any],
    queries_per_batch: int,
    passages_per_query: int,
    epochs: float | None,
    max_steps: int | None,
    learning_rate: float,
    warmup_ratio: float,
    warmup_steps: int,
    schedule: str,
    weight_decay: float,
    max_grad_norm: float,
    precision: str,
    passage_length: int,
    separator: str,
    seed: int,
    negative_choice: str = "window",
    positive_choice: str = "all",
) -> Node:
    """A cross-encoder trained likewise; ``passage_length`` is that of query and passage together."""
    params = {
        "objective": objective.as_param(),
        "options": dict(options),
        "queries_per_batch": queries_per_batch,
        "passages_per_query": passages_per_query,
        "epochs": epochs,
        "max_steps": max_steps,
        "learning_rate": learning_rate,
        "warmup_ratio": warmup_ratio,
        "warmup_steps": warmup_steps,
        "schedule": schedule,
        "weight_decay": weight_decay,
        "max_grad_norm": max_grad_norm,
        "precision": precision,
        "passage_length": passage_length,
        "separator": separator,
        "seed": seed,
    }
    params |= _choices(negative_choice, positive_choice)
    inputs = {"model": model, "training_set": training_set, "corpus": documents, "queries": topics}
    return Node("finetune", params, inputs)


def _choices(negative_choice: str, positive_choice: str) -> dict[str, str]:
    """Only what departs from the usual rules is a parameter."""
    given = {"negative_choice": (negative_choice, "window"), "positive_choice": (positive_choice, "all")}
    return {name: value for name, (value, usual) in given.items() if value != usual}
