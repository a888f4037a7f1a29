"""The contract between a training and its objective, and how a stage finds and makes one.

An objective is an ``nn.Module``, made as ``Class(model, tokenizer, **options)``. Its keyword parameters, all
of them named in ``__init__``, are the options of its node and, by their own names, those parameters of the
stage that it asks for (``length``, ``seed``, ``pooling``, …; in fine-tuning also ``start``, the directory of
the starting model). What it draws at random depends on the seed, the epoch and the example's index only, so
that a batch is the same whoever makes it and whenever. It is a ``SumObjective`` or a ``BatchObjective``; one
of fine-tuning also has a static ``load(folder)``, which returns the model that it starts from, in
pre-training always a masked language model.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from repro.errors import UsageError

if TYPE_CHECKING:
    import torch
    from torch import nn

    Tensors = dict[str, torch.Tensor]


class Objective(Protocol):
    """Everything that any objective has.

    Attributes:
        name, version: its identity in a fingerprint; a raised version discards what was trained before.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    def __call__(self, batch: Tensors) -> Tensors:
        """As ``forward`` of either form."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return all that may be trained."""

    def collate(self, examples: list[dict]) -> Tensors:
        """Return a batch, or part of one, of examples that each have ``epoch`` and ``index``."""

    def save(self, folder: Path) -> None:
        """Write what is kept of the training: a model directory."""


@runtime_checkable
class SumObjective(Objective, Protocol):
    """Losses that are sums, or means, over things of single texts; parts of a batch add up to it."""

    def forward(self, batch: Tensors) -> Tensors:
        """Named scalar losses, whose sum is minimised; one is absent where the batch has nothing for it."""

    def denominators(self, batch: Tensors) -> dict[str, int | None]:
        """Return how many things each loss is a mean over in this part; None for a loss that is a sum."""


@runtime_checkable
class BatchObjective(Objective, Protocol):
    """Losses in which the texts of a batch meet: they are taken of what all parts are represented by.

    ``forward`` is ``losses(represent(batch))``, as ``repro.retrieval.nn.objectives`` has it.
    """

    def represent(self, batch: Tensors) -> Tensors:
        """Encode a part: rows by name; the losses get those of all parts, and of all processes, together."""

    def losses(self, represented: Tensors) -> Tensors:
        """Named scalar losses of the whole batch, as ``SumObjective.forward`` gives them."""


class MeansOfParts(Protocol):
    """Declared by a ``SumObjective`` whose losses are means of the means of parts of a batch.

    Attributes:
        part_size: examples of each part, in the order of the batch (of a process's share of it), whatever
            REPRO_MICRO_BATCH says; None for losses that no part enters. Its
            ``denominators`` are 1.
    """

    part_size: int | None


def import_declared(kind: str, declared: Mapping[str, Any]):
    """Return the object at ``declared["path"]``. Raises UsageError for another name or version."""
    path = declared["path"]
    module, _, attribute = path.partition(":")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise UsageError(f"there is no {kind} at {path!r} ({error})") from error
    for key in ("name", "version"):
        actual = getattr(value, key, declared[key])
        if actual != declared[key]:
            raise UsageError(f"{path} has {key} {actual!r}, the plan says {declared[key]!r}; plan again")
    return value


def objective_class(stage: str, params: Mapping[str, Any]):
    """Return the class of the objective of a training, which has the methods that its stage calls.

    Raises:
        UsageError: there is none, it has another name or version than its recipe declares, or it lacks a
            method of the contract.
    """
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
    """Return the objective with its options and the settings it asks for. Raises UsageError for others."""
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
    """Return the module, which is of one of the two forms. Raises UsageError for one of neither."""
    if isinstance(module, (SumObjective, BatchObjective)):
        return module
    raise UsageError(
        f"objective {getattr(module, 'name', type(module).__name__)!r} can be trained neither as a sum over "
        "texts nor as a loss in which they meet; repro/retrieval/training/objective.py says what each has to "
        "offer"
    )
