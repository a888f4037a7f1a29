"""COSTA's Eq. 8 against the public loss of supervised contrastive learning, whose form it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from oracles import made_up, shims
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side
from oracles.written import ConcernedNodes, ReleasedCode
from papers.costa.group_contrastive import group_contrastive


def ours(inputs: Mapping[str, Any]) -> Side:
    """Eq. 8 over the vectors of texts and spans."""
    texts, spans = _vectors(inputs)
    there = torch.ones(spans.shape[:2], dtype=torch.bool)
    how = {name: inputs[name] for name in ("temperature", "similarity", "reduction")}
    return _side(group_contrastive(texts, spans, there, **how), texts, spans)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """The released ``SupConLoss``: a text is the anchor, its views are the text and its spans.

    It is a mean over the texts, so that Eq. 8 as printed is N times it.
    """
    texts, spans = _vectors(inputs)
    features = torch.cat((texts.unsqueeze(1), spans), dim=1)  # (N, 1 + S, H)
    if inputs["similarity"] == "cosine":
        features = functional.normalize(features, dim=-1)
    with shims.imported(checkout, "losses") as [losses]:
        tau = {"temperature": inputs["temperature"], "base_temperature": inputs["temperature"]}
        loss = losses.SupConLoss(contrast_mode="one", **tau)(features)
    return _side(loss * (len(texts) if inputs["reduction"] == "sum" else 1), texts, spans)


def _vectors(inputs: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    shapes = ((inputs["texts"], inputs["width"]), (inputs["texts"], inputs["spans"], inputs["width"]))
    return tuple((0.3 * made_up.normal(s, seed=(inputs["seed"], len(s)))).requires_grad_() for s in shapes)


def _side(loss: torch.Tensor, texts: torch.Tensor, spans: torch.Tensor) -> Side:
    loss.backward()
    return Side({"contrastive": loss.item()}, {"texts": texts.grad, "spans": spans.grad})


def _compared(about: str, **changes) -> Compared:
    inputs = {"seed": 2, "texts": 8, "spans": 20, "width": 16, "temperature": 0.1}
    inputs |= {"similarity": "dot", "reduction": "mean"}
    return Compared(about, inputs | changes, ours, official)


LOSS = "papers.costa.group_contrastive:group_contrastive"
ORACLE = Declared(
    file="costa/group-contrastive",
    objective="COSTA's Eq. 8: a text near its own spans, against supervised contrastive learning",
    code=ReleasedCode(
        repository="HobbitLong/SupContrast",
        commit="66a8fe53880d6a1084b2e4e0db0a019024d6d41a",
        files=("losses.py",),
    ),
    nodes=(ConcernedNodes(stage="pretrain", params={"objective.name": ("costa",)}),),
    cases={
        "dot": _compared("dot products, as printed"),
        "sum": _compared("a sum over the texts, as printed", reduction="sum"),
        "cosine": _compared("cosines", similarity="cosine"),
        "few": _compared(
            "64 texts of 12 spans, temperature 1", texts=64, spans=12, temperature=1.0, similarity="cosine"
        ),
    },
    mutations=(
        Mutation(LOSS, "log_denominator - positives", "log_denominator + positives"),
        Mutation(LOSS, "own | ~anchors", "~own | ~anchors"),
        Mutation(LOSS, "masked_fill(own | ~anchors, -torch.inf)", "masked_fill(own | ~anchors, 0.0)"),
    ),
    stands_in=True,
    departures=(
        "the released factor temperature / 0.07 is 1 in Eq. 8 (contrastive-loss-scale)",
        "a text without a span, or with fewer, has no counterpart in the released loss",
    ),
)

if __name__ == "__main__":
    main(ORACLE)
