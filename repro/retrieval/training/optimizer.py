"""AdamW as transformers' Trainer sets it up, the course of its rate, clipping, and half precision."""

import contextlib
import functools
import math
from collections.abc import Callable

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler
from transformers.trainer_pt_utils import get_parameter_names

from repro.retrieval.training.declaration import Optimisation


def logarithmic_warmup_share(step: int, *, warmup: int, total: int) -> float:
    """Return the share of the peak rate that step ``step``, from 0, is taken with.

        log(step + 1) / log(warmup)             before ``warmup`` (2 at least, as log 1 is 0)
        (total - step) / (total - warmup)       from there on, 0 at ``total``

    The course that DeepSpeed's WarmupDecayLR defines with its ``log`` type.
    """
    warmup = max(2, warmup)
    if step < warmup:
        return math.log(step + 1) / math.log(warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def deepspeed_share(step: int, *, warmup: int, total: int) -> float:
    """Return the share of the peak rate that step ``step``, from 0, is taken with under DeepSpeed 0.6.0.

    Its scheduler sets no rate before the first step, which is so taken at the peak; it is called after each
    step, so that step t > 0 has what ``logarithmic_warmup_share`` defines for t - 1
    (microsoft/DeepSpeed at v0.6.0, deepspeed/runtime/lr_schedules.py and engine.py).
    """
    return logarithmic_warmup_share(step - 1, warmup=warmup, total=total) if step else 1.0


def share_schedule(
    share: Callable[..., float], optimizer: torch.optim.Optimizer, *, warmup: int, total: int
) -> LambdaLR:
    """Return the schedule that gives every group of parameters ``share(step)`` of its peak learning rate."""
    return LambdaLR(optimizer, functools.partial(share, warmup=warmup, total=total))


OWN_SCHEDULES = {
    "logarithmic": functools.partial(share_schedule, logarithmic_warmup_share),
    "deepspeed-0.6.0": functools.partial(share_schedule, deepspeed_share),
}


UNDECAYED = ["bias", "layernorm", "rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]  # in names
AUTOCAST = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Optimizer:
    """AdamW over the parameters of an objective that learn, one step of the schedule after each of its own.

    Betas are 0.9 and 0.999, epsilon 1e-8; neither biases nor LayerNorms are decayed. With fp16 losses are
    scaled; a step whose gradient overflowed is skipped, and the schedule waits, as in transformers' Trainer
    (with an AdamW that is not fused: a fused one does not tell it).

    Attributes:
        adamw, schedule, scaler: torch's own objects, of which a checkpoint keeps the states; no ``scaler``
            but with fp16.
        autocast: makes the context that a batch is encoded in.
    """

    def __init__(self, objective: nn.Module, optimisation: Optimisation, *, steps: int):
        self.parameters = list(objective.parameters())
        device = self.parameters[0].device.type
        self.adamw = torch.optim.AdamW(
            _groups(objective, optimisation.weight_decay), lr=optimisation.learning_rate, fused=True
        )
        self.schedule = rate_schedule(self.adamw, optimisation, steps=steps)
        self.limit = optimisation.max_grad_norm if optimisation.max_grad_norm > 0 else math.inf
        self.scaler = torch.amp.GradScaler(device) if optimisation.precision == "fp16" else None
        if self.scaler is not None:  # else a process whose first batch has no loss could not unscale
            self.scaler.scale(torch.zeros((), device=device))
        self._scale: float | None = None  # after the last step
        dtype = AUTOCAST.get(optimisation.precision)
        self.autocast = functools.partial(torch.autocast, device, dtype) if dtype else contextlib.nullcontext

    @property
    def rate(self) -> float:
        """The learning rate of the step that comes next."""
        return self.adamw.param_groups[0]["lr"]

    def backward(self, loss: torch.Tensor) -> None:
        """Add the gradient of a loss to the parameters', scaled with fp16."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def step(self) -> torch.Tensor:
        """Clip the gradients, move the parameters by them and forget them; the norm that there was before."""
        if self.scaler is not None:
            self.scaler.unscale_(self.adamw)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.limit)
        if self._move():
            self.schedule.step()
        self.forget()
        return norm

    def _move(self) -> bool:
        """Move the parameters; false where their gradient overflowed, so that they stay."""
        if self.scaler is None:
            self.adamw.step()
            return True
        scale = self.scaler.get_scale() if self._scale is None else self._scale
        self.scaler.step(self.adamw)
        self.scaler.update()
        self._scale = self.scaler.get_scale()  # a GPU is waited for
        return self._scale >= scale

    def skipped(self, steps: int) -> int:
        """Return the number of those steps that were skipped."""
        return steps - self.schedule.last_epoch if self.scaler else 0

    def forget(self) -> None:
        """Drop all gradients."""
        for parameter in self.parameters:
            parameter.grad = None


def rate_schedule(adamw: torch.optim.Optimizer, optimisation: Optimisation, *, steps: int) -> LRScheduler:
    """Return the learning rate's schedule over so many steps: ours if transformers has none of the name."""
    warmup = optimisation.warmup(steps)
    if optimisation.schedule in OWN_SCHEDULES:
        return OWN_SCHEDULES[optimisation.schedule](adamw, warmup=warmup, total=steps)
    return get_scheduler(optimisation.schedule, adamw, num_warmup_steps=warmup, num_training_steps=steps)


def _groups(objective: nn.Module, weight_decay: float) -> list[dict]:
    """Return the decayed parameters and the others, as transformers' Trainer divides them."""
    decay_names = set(get_parameter_names(objective, [nn.LayerNorm], UNDECAYED))
    weights = [(name, weight) for name, weight in objective.named_parameters() if weight.requires_grad]
    return [
        {"params": [weight for name, weight in weights if name in decay_names], "weight_decay": weight_decay},
        {"params": [weight for name, weight in weights if name not in decay_names], "weight_decay": 0.0},
    ]
