"""The learning rate's course of DeepSpeed, by which SimLM was trained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from oracles import shims
from oracles.declaration import Compared, Declared, Mutation, main
from oracles.sides import Side
from oracles.written import ConcernedNodes, ReleasedCode
from repro.retrieval.training.optimizer import OWN_SHARES

NAME = "deepspeed-0.6.0"  # of a node's schedule


def ours(inputs: Mapping[str, Any]) -> Side:
    """The rate of every step, by a scheduler of ours."""
    optimizer = _optimizer(inputs)
    share = partial(OWN_SHARES[NAME], warmup=inputs["warmup"], total=inputs["total"])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    return _course(optimizer, scheduler, inputs)


def official(checkout: Path, inputs: Mapping[str, Any]) -> Side:
    """Step the released ``WarmupDecayLR`` after the optimiser, as the released engine does.

    It sets no rate when it is made, so that the first step is taken at the optimiser's own, the peak.
    """
    runtime = checkout / "deepspeed" / "runtime"
    for name, folder in (("deepspeed", checkout / "deepspeed"), ("deepspeed.runtime", runtime)):
        shims.bare_package(name, folder)
    with shims.imported(checkout, "deepspeed.runtime.lr_schedules", absent=("deepspeed.utils",)) as [
        schedules
    ]:
        optimizer = _optimizer(inputs)
        sizes = {"warmup_num_steps": inputs["warmup"], "total_num_steps": inputs["total"]}
        scheduler = schedules.WarmupDecayLR(optimizer, warmup_max_lr=inputs["rate"], **sizes)
        return _course(optimizer, scheduler, inputs)


def _course(optimizer: torch.optim.Optimizer, scheduler, inputs: Mapping[str, Any]) -> Side:
    rates = []
    for _ in range(inputs["total"]):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return _side(rates, inputs)


def _optimizer(inputs: Mapping[str, Any]) -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=inputs["rate"])


def _side(rates: list[float], inputs: Mapping[str, Any]) -> Side:
    """Some rates by themselves, and two means over all of them, as shares of the peak."""
    peak = inputs["rate"]
    kept = range(0, len(rates), max(1, len(rates) // 12))
    losses = {f"step {step}": rates[step] / peak for step in kept}
    losses |= {"mean": sum(rates) / peak / len(rates)}
    losses |= {"late": sum(n * rate for n, rate in enumerate(rates)) / peak / len(rates) ** 2}
    return Side(losses)


def _compared(warmup: int, total: int, rate: float) -> Compared:
    inputs = {"warmup": warmup, "total": total, "rate": rate}
    return Compared(f"{total} steps, {warmup} of them of warm-up; shares of the peak", inputs, ours, official)


SHARE = "repro.retrieval.training.optimizer:logarithmic_warmup_share"
ORACLE = Declared(
    file="simlm/learning-rate",
    objective="The learning rate's course: DeepSpeed 0.6.0, by which SimLM was trained",
    code=ReleasedCode(
        repository="microsoft/DeepSpeed",
        commit="a32e9b3376566fa9bcd3b12a16e896432621435e",
        files=("deepspeed/runtime/lr_schedules.py",),
    ),
    nodes=tuple(
        ConcernedNodes(stage=stage, params={"schedule": (NAME,)}) for stage in ("pretrain", "finetune")
    ),
    cases={
        "short": _compared(10, 60, 3e-4),
        "pre-training": _compared(400, 8000, 3e-4),
        "no-warm-up": _compared(0, 30, 2e-5),
    },
    numbers="the rate, as a share of its peak",
    mutations=(
        Mutation("repro.retrieval.training.optimizer:deepspeed_share", "step - 1", "step + 1"),
        Mutation("repro.retrieval.training.optimizer:deepspeed_share", "else 1.0", "else 0.0"),
        Mutation(SHARE, "math.log(step + 1)", "math.log(step + 2)"),
        Mutation(SHARE, "(total - step) / max", "(total + step) / max"),
        Mutation(SHARE, "max(1, total - warmup)", "max(1, total + warmup)"),
    ),
    shims=("the packages' __init__ files, which import all of DeepSpeed, and its logger stand empty",),
)

if __name__ == "__main__":
    main(ORACLE)
