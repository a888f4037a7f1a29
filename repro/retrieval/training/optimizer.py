"""AdamW as set up by transformers' Trainer, with schedules, clipping and half precision."""

import contextlib
import functools
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import get_scheduler
from transformers.trainer_pt_utils import get_parameter_names

from repro.retrieval.nn.precision import HALVES
from repro.retrieval.training.declaration import Optimisation


def logarithmic_warmup_share(step: int, *, warmup: int, total: int) -> float:
    """Return the rate at ``step`` (0 first) as a share of the peak, by DeepSpeed's WarmupDecayLR (``log``).

        log(step + 1) / log(warmup)           before ``warmup`` (at least 2, as log 1 is 0)
        (total - step) / (total - warmup)     afterwards

    E.g. step 3 of a warm-up of 16 has 0.5.
    """
    warmup = max(2, warmup)
    if step < warmup:
        return math.log(step + 1) / math.log(warmup)
    return max(0.0, (total - step) / max(1, total - warmup))


def deepspeed_share(step: int, *, warmup: int, total: int) -> float:
    """Return the rate at ``step`` (0 first) as a share of the peak, under DeepSpeed 0.6.0.

    Its scheduler is called after each step, so the first has the peak rate (deepspeed/runtime/lr_schedules.py
    and engine.py).
    """
    return logarithmic_warmup_share(step - 1, warmup=warmup, total=total) if step else 1.0


OWN_SHARES = {"logarithmic": logarithmic_warmup_share, "deepspeed-0.6.0": deepspeed_share}
UNDECAYED = ["bias", "layernorm", "rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]


class Optimizer:
    """AdamW over the trained parameters, with betas 0.9 and 0.999 and epsilon 1e-8.

    With fp16, losses are scaled, and a step with an overflowed gradient is skipped, as in
    transformers' Trainer.
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
        if self.scaler is not None:  # allows unscaling without a first loss
            self.scaler.scale(torch.zeros((), device=device))
        self._scale: float | None = None
        dtype = HALVES.get(optimisation.precision)
        self.autocast = functools.partial(torch.autocast, device, dtype) if dtype else contextlib.nullcontext

    @property
    def rate(self) -> float:
        return self.adamw.param_groups[0]["lr"]

    def backward(self, loss: torch.Tensor) -> None:
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def step(self) -> torch.Tensor:
        """Clip the gradients, update the parameters, and return the norm before clipping."""
        if self.scaler is not None:
            self.scaler.unscale_(self.adamw)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.limit)
        if self._move():
            self.schedule.step()
        self.forget()
        return norm

    def _move(self) -> bool:
        if self.scaler is None:
            self.adamw.step()
            return True
        scale = self.scaler.get_scale() if self._scale is None else self._scale
        self.scaler.step(self.adamw)
        self.scaler.update()
        self._scale = self.scaler.get_scale()  # waits for a GPU
        return self._scale >= scale

    def skipped(self, steps: int) -> int:
        return steps - self.schedule.last_epoch if self.scaler else 0

    def forget(self) -> None:
        self.adamw.zero_grad()


def rate_schedule(adamw: torch.optim.Optimizer, optimisation: Optimisation, *, steps: int) -> LRScheduler:
    warmup = optimisation.warmup(steps)
    if share := OWN_SHARES.get(optimisation.schedule):
        return LambdaLR(adamw, functools.partial(share, warmup=warmup, total=steps))
    return get_scheduler(optimisation.schedule, adamw, num_warmup_steps=warmup, num_training_steps=steps)


def _groups(objective: nn.Module, weight_decay: float) -> list[dict]:
    decay_names = set(get_parameter_names(objective, [nn.LayerNorm], UNDECAYED))
    weights = [(name, weight) for name, weight in objective.named_parameters() if weight.requires_grad]
    return [
        {"params": [weight for name, weight in weights if name in decay_names], "weight_decay": weight_decay},
        {"params": [weight for name, weight in weights if name not in decay_names], "weight_decay": 0.0},
    ]
