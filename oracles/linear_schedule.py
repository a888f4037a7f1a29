"""The learning rate's linear course, and which weights decay, held against PROP's own training loop.

python -m oracles.linear_schedule --checkout PROP
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from oracles.declaration import Compared, Declared, Mutation, main
from oracles.excerpts import excerpt
from oracles.made_up import masked_lm
from oracles.shims import imported
from oracles.sides import Side
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.training.declaration import Optimisation
from repro.retrieval.training.optimizer import Optimizer


class _Objective(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.encoder = model


def optimizer(model: nn.Module, inputs: Mapping[str, Any]) -> Optimizer:
    """Ours of a model, with the course of its rate."""
    optimisation = Optimisation(
        batch_size=1,
        max_steps=inputs["steps"],
        learning_rate=inputs["rate"],
        warmup_ratio=inputs["warm-up"],
        schedule="linear",
        weight_decay=0.01,
        max_grad_norm=1.0,
        precision="fp32",
        seed=1,
    )
    return Optimizer(_Objective(model), optimisation, steps=inputs["steps"])


def ours(inputs: Mapping[str, Any]) -> Side:
    """The rate of each step, and the decay of each parameter."""
    model, rates = masked_lm(seed=1, layers=1), {}
    made = optimizer(model, inputs)
    for step in range(inputs["steps"] + 1):
        rates[f"step {step}"] = made.rate / inputs["rate"]
        made.step()
    return _side(rates, made.adamw.param_groups, model)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """``warmup_linear`` of pytorch_pretrain_bert/optimization.py, and the groups of run_pretraining.py."""
    with imported(checkout, "pytorch_pretrain_bert.optimization", absent=ABSENT) as (optimization,):
        steps = inputs["steps"]
        rates = {
            f"step {step}": float(optimization.warmup_linear(step / steps, inputs["warm-up"]))
            for step in range(steps + 1)
        }
    model = masked_lm(seed=1, layers=1)
    made = excerpt(checkout / "run_pretraining.py", "param_optimizer = ", "if args.fp16", {"model": model})
    return _side(rates, made["optimizer_grouped_parameters"], model)


ABSENT = ("boto3", "botocore", "botocore.exceptions")


def _side(rates: dict[str, float], groups: list[dict], model: nn.Module) -> Side:
    decays = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    values = {name: decays[id(parameter)] for name, parameter in model.named_parameters()}
    return Side(losses=rates, values={"weight_decay": values}, compared=len(values))


ORACLE = Declared(
    file="baselines/linear_schedule",
    objective="the learning rate's linear course and the weights that decay",
    numbers="the rate's share of its peak",
    code=ReleasedCode(
        repository="Albert-Ma/PROP",
        commit="8f0248f2cd262ea9a7ce8ffd8ca494028449ebd8",
        files=("run_pretraining.py", "pytorch_pretrain_bert/optimization.py"),
    ),
    nodes=tuple(
        ConcernedNodes(stage=stage, params={"schedule": ("linear",)}) for stage in ("pretrain", "finetune")
    ),
    cases={
        "a-tenth": Compared(
            "warm-up over a tenth of forty steps", {"steps": 40, "warm-up": 0.1, "rate": 3e-5}, ours, official
        ),
        "none": Compared("no warm-up", {"steps": 9, "warm-up": 0.0, "rate": 1e-3}, ours, official),
    },
    mutations=(
        Mutation(
            "repro.retrieval.training.optimizer:Optimizer.__init__",
            "optimisation.weight_decay",
            "-optimisation.weight_decay",
        ),
        Mutation(
            "repro.retrieval.training.optimizer:rate_schedule",
            "warmup = optimisation.warmup(steps)",
            "warmup = 1 + optimisation.warmup(steps)",
        ),
    ),
    shims=("an empty boto3",),
)

if __name__ == "__main__":
    main(ORACLE)
