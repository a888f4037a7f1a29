"""SimLM's choice of a query's passages for an epoch, and of the positives that it trusts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oracles import shims, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side, digest
from oracles.written import ConcernedNodes
from repro.retrieval.stages.finetune import confident, next_slice


def ours(inputs: Mapping[str, Any]) -> Side:
    """Our choices, row by row."""
    chosen = []
    for row in _rows(inputs):
        positives: Any = range(len(row["positive_scores"]))
        if inputs["confident"]:
            positives = confident(row["positive_scores"], row["negative_scores"])
        negatives = range(len(row["positive_scores"]), row["documents"])
        turn = {"passages": row["passages"], "seed": row["seed"], "epoch": row["epoch"]}
        chosen.append(next_slice(positives, negatives, **turn))
    return _side(chosen)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The choices of the released ``group_doc_ids``; a document is its place among the row's."""
    with shims.imported(checkout / simlm_texts.FOLDER, "loaders.loader_utils", absent=simlm_texts.ABSENT) as [
        utils
    ]:
        chosen = []
        for row in _rows(inputs):
            first = len(row["positive_scores"])
            sides = {
                "positives": [{"doc_id": list(range(first)), "score": row["positive_scores"]}],
                "negatives": [
                    {"doc_id": list(range(first, row["documents"])), "score": row["negative_scores"]}
                ],
            }
            how = {"negative_size": row["passages"] - 1, "offset": row["epoch"] + row["seed"]}
            chosen.append(utils.group_doc_ids(sides, use_first_positive=inputs["confident"], **how))
    return _side(chosen)


def _rows(inputs: Mapping[str, Any]):
    """Rows with scores that are often equal, so that every comparison of them matters."""
    generator = np.random.default_rng(inputs["seed"])
    for _ in range(inputs["rows"]):
        positives, negatives, passages, seed, epoch = generator.integers(
            (1, 1, 2, 0, 0), (5, 12, 9, 50, 9)
        ).tolist()
        yield {
            "positive_scores": generator.integers(0, 6, positives).tolist(),
            "negative_scores": generator.integers(0, 6, negatives).tolist(),
            "documents": positives + negatives,
            "passages": passages,
            "seed": seed,
            "epoch": epoch,
        }


def _side(chosen: list[list[int]]) -> Side:
    return Side(values={"chosen": digest(chosen)}, compared=len(chosen))


INPUTS = {"seed": 11, "rows": 1500}
ORACLE = Declared(
    file="simlm/groups",
    objective="SimLM's choice of a query's positive and negatives for an epoch",
    code=simlm_texts.released("loaders/loader_utils.py"),
    nodes=(ConcernedNodes(stage="finetune", params={"negative_choice": ("slice",)}),),
    cases={
        "all": Compared("all positives take turns", INPUTS | {"confident": False}, ours, official, dtype=""),
        "confident": Compared(
            "positives to trust take turns", INPUTS | {"confident": True}, ours, official, dtype=""
        ),
    },
    mutations=(
        Mutation("repro.retrieval.stages.finetune:next_slice", "epoch + seed", "epoch - seed"),
        Mutation(
            "repro.retrieval.stages.finetune:next_slice", "turn * count + place", "turn * count - place"
        ),
        Mutation("repro.retrieval.stages.finetune:confident", "score > best", "score >= best"),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
