"""The interface between a training and its objective, and how a stage finds and makes one.

An objective is an ``nn.Module`` made as ``Class(model, tokenizer, **options)``. Its ``__init__`` names its
options, and the stage's parameters that it uses, e.g. ``length``, ``seed`` or, in fine-tuning, ``start``, the
starting model's directory, which a static ``load(folder)`` reads. In pre-training the model is a masked
language model. Random draws depend only on seed, epoch and index.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from repro.errors import UsageError
from repro.machine import extra_of

if TYPE_CHECKING:
    import torch
    from torch import nn

    Tensors = dict[str, torch.Tensor]


class Objective(Protocol):
    """The interface of every objective. Raising ``version`` makes earlier trainings invalid."""

    name: ClassVar[str]
    version: ClassVar[int]

    def __call__(self, batch: Tensors) -> Tensors:
        """Return the losses like ``forward``."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return all trainable parameters."""

    def collate(self, examples: list[dict]) -> Tensors:
        """Return a batch, or part of one, from examples with ``epoch`` and ``index``."""

    def save(self, folder: Path) -> None:
        """Write the trained model directory."""


@runtime_checkable
class SumObjective(Objective, Protocol):
    """Losses that are sums or means over elements of single texts, e.g. masked tokens.

    Losses of parts of a batch are added. For means over groups of texts, an objective has
    ``cut(batch, size)``, which returns a collated batch in parts.
    """

    def forward(self, batch: Tensors) -> Tensors:
        """Return named scalar losses to sum. A loss without an element in the batch is absent."""

    def denominators(self, batch: Tensors) -> Mapping[str, float | None]:
        """Return how many elements each loss averages over, or None for a sum."""


@runtime_checkable
class BatchObjective(Objective, Protocol):
    """Losses over several texts of a batch. ``forward`` is ``losses(represent(batch))``."""

    def represent(self, batch: Tensors) -> Tensors:
        """Return the named rows that represent a part of a batch."""

    def losses(self, represented: Tensors) -> Tensors:
        """Return named scalar losses of the rows of all parts and processes."""


def import_declared(kind: str, declared: Mapping[str, Any]):
    """Return the object at ``declared["path"]``, an objective or other ``kind``.

    Raises UsageError if it is absent or its name or version differs.
    """
    path = declared["path"]
    module, _, attribute = path.partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and extra_of(error.name):
            raise
        raise UsageError(f"there is no {kind} at {path!r} ({error})") from error
    for key in ("name", "version"):
        actual = getattr(value, key, declared[key])
        if actual != declared[key]:
            raise UsageError(f"{path} has {key} {actual!r}, the plan says {declared[key]!r}. Plan again.")
    return value


def objective_class(stage: str, params: Mapping[str, Any]):
    """Return a training's objective class. Raises UsageError if it or a method is missing."""
    path, kind = params["objective"]["path"], import_declared("objective", params["objective"])
    needed = ["collate", "save", *(["load"] if stage == "finetune" else [])]
    own = {name for each in kind.__mro__ if not each.__module__.startswith("torch.") for name in vars(each)}
    needed += ["represent", "losses"] if own & {"represent", "losses"} else ["forward", "denominators"]
    if missing := next((name for name in needed if name not in own), None):
        raise UsageError(f"{path} has no method {missing!r}, which the stage {stage} calls")
    return kind


def build(
    objective: Any,
    model: nn.Module,
    tokenizer,
    options: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> nn.Module:
    """Return an instance of ``objective``, with ``options`` and those ``settings`` that it takes.

    Raises UsageError for wrong options.
    """
    signature = inspect.signature(objective)
    values = {name: value for name, value in settings.items() if name in signature.parameters} | dict(options)
    try:
        signature.bind(model, tokenizer, **values)
    except TypeError as error:
        raise UsageError(f"objective {objective.name!r}: {error}") from error
    instance = objective(model, tokenizer, **values)
    as_objective(instance)
    return instance


def as_objective(module: nn.Module) -> SumObjective | BatchObjective:
    """Return ``module``. Raises UsageError unless it is a SumObjective or a BatchObjective."""
    if isinstance(module, (SumObjective, BatchObjective)):
        return module
    name = getattr(module, "name", type(module).__name__)
    raise UsageError(f"objective {name!r} is neither a SumObjective nor a BatchObjective (see {__file__})")
