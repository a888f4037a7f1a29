"""The arguments that every training has, as a recipe states them, and how the machine carries it out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from repro.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How an objective is minimised; names as in HF's TrainingArguments where it has them.

    Attributes:
        batch_size: examples a step, of all processes together: in-batch negatives make it part of the loss.
            An example is a text, or a query with its passages.
        epochs, max_steps: the training ends at whichever comes first; either may be None, not both.
        warmup_ratio, warmup_steps: linear warm-up over that share or number of steps; one is 0 or None.
        schedule: the learning rate's course after warm-up, HF's name where HF has it; ``linear`` falls to 0
            at the last step. ``logarithmic`` does too, after a warm-up that rises with the step's logarithm;
            ``deepspeed-0.6.0`` likewise, one step later, its first step at the peak.
        weight_decay: AdamW's, applied to neither biases nor LayerNorm; 0 makes it Adam.
        max_grad_norm: gradients are clipped to it; 0 for no clipping.
        precision: ``fp32``, ``fp16`` or ``bf16``.
        seed: of dropout and of the order of the examples.

    Raises UsageError where neither or both of two exclusive arguments are given.
    """

    batch_size: int
    epochs: float | None = None
    max_steps: int | None = None
    learning_rate: float
    warmup_ratio: float | None = 0.0
    warmup_steps: int | None = 0
    schedule: str
    weight_decay: float
    max_grad_norm: float
    precision: str
    seed: int

    def __post_init__(self):
        if self.epochs is None and self.max_steps is None:
            raise UsageError("a training needs epochs or max_steps; both are null")
        if self.warmup_ratio and self.warmup_steps:
            raise UsageError("a training takes warmup_ratio or warmup_steps, not both; set one to 0")

    @classmethod
    def of(cls, params: Mapping[str, Any], *, batch_size: int) -> Optimisation:
        """The optimisation among a training node's parameters.

        Raises:
            UsageError: the precision is unknown, or as of the class.
            BlockedError: half precision without a GPU.
        """
        from repro.retrieval.nn.precision import check_precision

        names = [field.name for field in fields(cls) if field.name != "batch_size"]
        optimisation = cls(batch_size=batch_size, **{name: params[name] for name in names})
        check_precision(optimisation.precision)
        return optimisation

    def as_params(self) -> dict[str, Any]:
        """Parameters of a training node, without the batch size, which stages call by names of their own."""
        names = (field.name for field in fields(self) if field.name != "batch_size")
        return {name: getattr(self, name) for name in names}

    def steps(self, examples: int) -> int:
        """Optimiser steps over so many examples; the last batch of an epoch may be smaller."""
        limits = [] if self.max_steps is None else [self.max_steps]
        if self.epochs is not None:
            limits.append(math.ceil(self.epochs * math.ceil(examples / self.batch_size)))
        return min(limits)

    @property
    def is_all_warm_up(self) -> bool:
        """Whether a warm-up of so many steps goes on beyond the end of the training, where that is known."""
        return (
            self.epochs is None and self.max_steps is not None and (self.warmup_steps or 0) > self.max_steps
        )

    def warmup(self, steps: int) -> int:
        """Steps of warm-up in a training of so many steps."""
        return self.warmup_steps or math.ceil(steps * (self.warmup_ratio or 0.0))


VARIABLES = {
    "micro_batch": ("REPRO_MICRO_BATCH", "examples encoded at once, or unset it for all"),
    "length_buckets": ("REPRO_LENGTH_BUCKETS", "groups of a batch's texts, or unset it for one"),
    "save_steps": ("REPRO_SAVE_STEPS", "steps, or unset it for every ten minutes"),
}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Options that leave the gradient as it is, but for what is drawn from torch's generator, as dropout is.

    To end with the same bits, an interrupted training goes on with the same ones.

    Attributes:
        micro_batch: examples encoded at a time where a process's share of a batch does not fit; None for all.
        length_buckets: groups of similar lengths that a batch is encoded in, in fine-tuning and where a
            pre-training's losses are sums over single texts (not where texts meet in a loss).
        padding_free: 1 where models that are built as BERT read the texts of a batch end to end, 0 where no
            model does; None for whichever takes less time (``padding_free.trains_faster``).
        save_steps: steps between checkpoints; None for one every ten minutes.
        origin: how the micro-batch came about, in a word or two; empty where it was asked for.
        parts_are_fixed: whether the objective's loss is a mean over parts of just that size.
    """

    micro_batch: int | None = None
    length_buckets: int = 1
    padding_free: int | None = None
    save_steps: int | None = None
    origin: str = ""
    parts_are_fixed: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Execution:
        """Read the REPRO_ variables.

        Raises:
            UsageError: one is no number above 0, or REPRO_PADDING_FREE is neither 0 nor 1.
        """
        from repro.retrieval.nn.padding_free import is_asked_for

        is_packed = is_asked_for(environment)
        values: dict[str, Any] = {} if is_packed is None else {"padding_free": int(is_packed)}
        for name, (variable, description) in VARIABLES.items():
            text = environment.get(variable)
            if text is None:
                continue
            if not (text.isascii() and text.isdigit()) or int(text) == 0:
                raise UsageError(f"{variable} is {text!r}; give a number of {description}")
            values[name] = int(text)
        return cls(**values)

    def for_parts_of(self, size: int | None) -> Execution:
        """The execution of an objective of ``MeansOfParts``: its losses are means over parts of ``size``.

        Batches are then cut into just these parts, and into no groups of similar lengths. None leaves the
        execution as it is.
        """
        if size is None:
            return self
        return replace(self, micro_batch=size, length_buckets=1, parts_are_fixed=True)


WHOLE_BATCHES = Execution()
