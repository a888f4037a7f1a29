"""Objectives by name: found by dotted path, checked against what the plan was made for.

What an objective has to offer is said in ``repro.training.loop``.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING

from repro.errors import UsageError

if TYPE_CHECKING:
    from torch import nn


def import_objective(declared: dict) -> type[nn.Module]:
    """The class at ``declared["path"]`` ("module:Class"), checked to be the one the plan was made for.

    Raises:
        UsageError: there is no such class, or its name or version is not the declared one.
    """
    path = declared["path"]
    module, _, attribute = path.partition(":")
    try:
        objective = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(f"there is no objective at {path!r} ({error})") from error
    for key in ("name", "version"):
        if getattr(objective, key) != declared[key]:
            raise UsageError(
                f"{path} has {key} {getattr(objective, key)!r}, the plan says {declared[key]!r}; plan again"
            )
    return objective


def built(objective: type[nn.Module], model: nn.Module, tokenizer, options: dict) -> nn.Module:
    """The objective with its options; raises UsageError where they are not those it takes."""
    try:
        inspect.signature(objective).bind(model, tokenizer, **options)
    except TypeError as error:
        raise UsageError(f"objective {objective.name!r}: {error}") from error
    return objective(model, tokenizer, **options)
