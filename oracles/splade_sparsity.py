"""The three means that keep SPLADE's vectors sparse: FLOPS, its growing weight, and pruning.

python -m oracles.splade_sparsity --checkout splade
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.made_up import normal
from oracles.shims import imported
from oracles.sides import Side
from oracles.splade import CODE, weighed
from oracles.tevatron_splade import bi_encoder
from oracles.written import ConcernedNodes
from repro.retrieval.nn.view_encoder import flops, top_k

RANDOM = {"seed": 61, "shape": [6, 40]}


def our_regulariser(inputs: Mapping[str, Any]) -> Side:
    """FLOPS of vectors, and its gradient."""
    vectors = _vectors(inputs)
    loss = flops(vectors)
    loss.backward()
    return Side({"flops": loss.item()}, {"vectors": vectors.grad})


def official_regulariser(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``FLOPS`` of splade/losses/regularization.py."""
    vectors = _vectors(inputs)
    with imported(checkout, "splade.losses.regularization") as (released,):
        loss = released.init_regularizer("FLOPS")(vectors)
    loss.backward()
    return Side({"flops": loss.item()}, {"vectors": vectors.grad})


def our_pruning(inputs: Mapping[str, Any]) -> Side:
    """The highest values of vectors, weighed."""
    vectors = _vectors(inputs)
    loss = weighed(top_k(vectors.float(), inputs["kept"]))
    loss.backward()
    return Side({"weighed": loss.item()}, {"vectors": vectors.grad})


def official_pruning(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``pruning`` of splade/utils/utils.py."""
    vectors = _vectors(inputs)
    with imported(checkout, "splade.utils.utils", absent=("omegaconf",)) as (released,):
        loss = weighed(released.pruning(vectors.float(), inputs["kept"], 1))
    loss.backward()
    return Side({"weighed": loss.item()}, {"vectors": vectors.grad})


def our_ramp(inputs: Mapping[str, Any]) -> Side:
    """The share of its weight that FLOPS has at each step."""
    weights = {"queries": 1.0, "passages": 0.0, "ramp_steps": inputs["ramp_steps"]}
    made = bi_encoder({"weights": 1} | weights)
    vectors = {side: {"sparse": torch.ones(1, 1, dtype=torch.float64)} for side in ("queries", "passages")}
    shares, usual = {}, torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # a step over a number of steps is of this one
    for step in range(1, inputs["steps"] + 1):
        made.steps += 1
        shares[f"step {step}"] = made.flops_losses(vectors)["flops.queries"].item()
    torch.set_default_dtype(usual)
    return Side(shares)


def official_ramp(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``RegWeightScheduler`` of splade/losses/regularization.py."""
    with imported(checkout, "splade.losses.regularization") as (released,):
        schedule = released.RegWeightScheduler(1.0, inputs["ramp_steps"])
        return Side({f"step {step}": schedule.step() for step in range(1, inputs["steps"] + 1)})


def _vectors(inputs: Mapping[str, Any]) -> torch.Tensor:
    return normal(inputs["shape"], seed=inputs["seed"]).clamp(min=0).requires_grad_()


ORACLE = Declared(
    file="cotmae_v2/sparsity",
    objective="SPLADE's FLOPS and pruning",
    code=CODE,
    nodes=(
        ConcernedNodes(
            stage="finetune",
            params={
                "options.views": (["sparse"], ["dense", "sparse"]),
                "options.flops_vectors": ("before",),
            },
        ),
    ),
    cases={
        "flops": Compared("of six vectors", RANDOM, our_regulariser, official_regulariser),
        "ramp": Compared(
            "the weight of FLOPS while it grows and after it",
            {"ramp_steps": 7, "steps": 9},
            our_ramp,
            official_ramp,
        ),
        "pruning": Compared(
            "to seven values",
            RANDOM | {"kept": 7},
            our_pruning,
            official_pruning,
            dtype="float32",
            tolerance=1e-6,
        ),
    },
    mutations=(
        Mutation(
            "repro.retrieval.nn.view_encoder:_MeanMagnitude.backward",
            "gradient / len(vectors)",
            "-gradient / len(vectors)",
        ),
        Mutation("repro.retrieval.nn.view_encoder:_MeanMagnitude.forward", "vectors.abs()", "vectors.neg()"),
        Mutation("repro.retrieval.nn.view_encoder:top_k", "values > last", "values < last"),
        Mutation(
            "repro.retrieval.nn.multi_view_bi_encoder:MultiViewBiEncoder.flops_losses",
            "clamp(max=1.0)",
            "clamp(min=1.0)",
        ),
    ),
    shims=("an empty omegaconf",),
)

if __name__ == "__main__":
    main(ORACLE)
