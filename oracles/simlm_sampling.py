"""SimLM's replacements: tokens drawn from the generator's distribution, by their shares among many draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from oracles import made_up, shims, simlm_texts
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side
from oracles.written import ConcernedNodes
from papers.simlm.generator import sampled

WIDTH = 40  # places of a text, all of them masked


def ours(inputs: Mapping[str, Any]) -> Side:
    """How often each token was drawn by us, from torch's generator at a seed."""
    logits = _logits(inputs)
    torch.manual_seed(inputs["seed"] + 1)
    return _side(sampled(torch.zeros(inputs["draws"], 1), lambda rows: logits.expand(len(rows), -1)), logits)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """How often by the released ``_replace_tokens``, from torch's generator at another seed."""
    logits, shape = _logits(inputs), (inputs["draws"] // WIDTH, WIDTH)
    with shims.imported(checkout / simlm_texts.FOLDER, "models.rlm", absent=simlm_texts.ABSENT) as [rlm]:
        made = SimpleNamespace(logits=logits.expand(*shape, -1), loss=None)
        model = SimpleNamespace(args=SimpleNamespace(rlm_freeze_generator=True), generator=lambda **_: made)
        torch.manual_seed(inputs["seed"])
        batch = {name: torch.ones(shape, dtype=torch.long) for name in ("input_ids", "labels")}
        tokens, _ = rlm.ReplaceLM._replace_tokens(model, batch)
    return _side(tokens.flatten(), logits)


def _logits(inputs: Mapping[str, Any]) -> torch.Tensor:
    return made_up.normal((inputs["tokens"],), seed=inputs["seed"]).float()


def _side(tokens: torch.Tensor, logits: torch.Tensor) -> Side:
    return Side(counts={"tokens": tokens.bincount(minlength=len(logits)).tolist()})


ORACLE = Declared(
    file="simlm/replacements",
    objective="SimLM's replacements in distribution: tokens drawn from the generator's distribution",
    code=simlm_texts.released("models/rlm.py"),
    nodes=(ConcernedNodes(stage="pretrain", params={"objective.name": ("simlm",)}),),
    cases={
        "draws": Compared(
            "draws from one distribution over 100 tokens",
            {"seed": 23, "tokens": 100, "draws": 40_000},
            ours,
            official,
            dtype="float32",
        )
    },
    mutations=(
        Mutation("papers.simlm.generator:sampled", "probabilities = logits", "probabilities = -logits"),
        Mutation(
            "papers.simlm.generator:sampled",
            "torch.rand_like(total) * total",
            "torch.rand_like(total) ** 2 * total",
        ),
    ),
    shims=simlm_texts.SHIMS,
)

if __name__ == "__main__":
    main(ORACLE)
