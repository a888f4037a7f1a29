"""Queries with their passages, chosen and collated by SimLM's released loaders and by ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from oracles import made_up
from repro.retrieval.stages.finetune import next_slice


def corpus(inputs: Mapping[str, Any]) -> list[dict[str, str]]:
    """The passages, ``{"title", "text"}``."""
    return made_up.passages(np.random.default_rng(inputs["seed"]), inputs["corpus"], words=(4, 24))


def lists(inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a training set: a query, one to three positives, negatives, and a score for each of them.

    Scores are multiples of 1/8, so that they are the same numbers in float32 and in float64.
    """
    generator = np.random.default_rng((inputs["seed"], 1))
    rows = []
    for _ in range(inputs["queries"]):
        count = int(generator.integers(1, 4))
        documents = generator.permutation(inputs["corpus"])[: count + inputs["negatives"]].tolist()
        scores = (generator.integers(-64, 64, len(documents)) / 8).tolist()
        row = {"query": made_up.text(generator, int(generator.integers(2, 6)))}
        row |= {"positives": documents[:count], "negatives": documents[count:]}
        rows.append(row | {"positive_scores": scores[:count], "negative_scores": scores[count:]})
    return rows


def ours(inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The examples that our objectives collate, as the stage of fine-tuning makes them."""
    passages, examples = corpus(inputs), []
    turn = {"passages": inputs["passages"], "seed": inputs["turn_seed"], "epoch": inputs["epoch"]}
    for index, row in enumerate(lists(inputs)):
        places = (range(len(row[side])) for side in ("positives", "negatives"))
        positive, *negatives = next_slice(*places, **turn)
        chosen = [row["positives"][positive], *(row["negatives"][place] for place in negatives)]
        scores = [row["positive_scores"][positive], *(row["negative_scores"][place] for place in negatives)]
        example = {"query": row["query"], "passages": [passages[document] for document in chosen]}
        examples.append(example | {"scores": scores, "epoch": inputs["epoch"], "index": index})
    return examples


def official(loader: type, collator: type, inputs: Mapping[str, Any], **args) -> dict[str, torch.Tensor]:
    """The batch of a released loader and its collator, for the same rows at the same epoch."""
    loading = loader.__new__(loader)  # its constructor reads files
    shared = {
        "seed": inputs["turn_seed"],
        "train_n_passages": inputs["passages"],
        "use_first_positive": False,
    }
    loading.args = SimpleNamespace(**shared, **args)
    loading.negative_size = inputs["passages"] - 1
    loading.tokenizer = made_up.tokenizer()
    loading.corpus = [{"title": p["title"], "contents": p["text"]} for p in corpus(inputs)]
    loading.trainer = SimpleNamespace(state=SimpleNamespace(epoch=float(inputs["epoch"])))
    rows = lists(inputs)
    columns: dict[str, list] = {
        "query_id": list(map(str, range(len(rows)))),
        "query": [row["query"] for row in rows],
    }
    for side, scores in (("positives", "positive_scores"), ("negatives", "negative_scores")):
        columns[side] = [{"doc_id": list(map(str, row[side])), "score": row[scores]} for row in rows]
    features = loading._transform_func(columns)
    each = [{name: values[n] for name, values in features.items()} for n in range(len(rows))]
    return dict(collator(tokenizer=loading.tokenizer)(each))
