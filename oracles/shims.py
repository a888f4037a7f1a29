"""Names of older libraries that released code imports; nothing here touches a formula.

A script imports files of a checkout by ``imported``; what they import and no formula needs is ``absent``.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import torch


@contextlib.contextmanager
def imported(root: Path, *modules: str, absent: tuple[str, ...] = ()) -> Iterator[list]:
    """Modules of a checkout, by the names that they have below ``root``, as long as the block lasts.

    Args:
        root: the folder that the released code is run from.
        absent: modules that are imported there and used by nothing that is compared: empty ones stand in,
            whose every attribute is a class.
    """
    before = dict(sys.modules)
    sys.path.insert(0, str(root))
    try:
        for name in absent:
            _empty(name)
        yield [importlib.import_module(name) for name in modules]
    finally:
        sys.path.remove(str(root))
        for name in sys.modules.keys() - before.keys():
            place = getattr(sys.modules[name], "__file__", None) or ""
            if place.startswith(str(root)) or name in absent:
                del sys.modules[name]


def _empty(name: str) -> None:
    class Empty(types.ModuleType):
        __path__ = ()

        def __getattr__(self, attribute: str):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return type(attribute, (), {})

    sys.modules[name] = Empty(name)
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, sys.modules[name])


def bare_package(name: str, folder: Path) -> None:
    """Let ``name`` be a package of a folder without its ``__init__``, which imports more than is there."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package


def giving_tuples(layers) -> None:
    """Let layers of a transformer return a tuple of their one output, as they did up to transformers 4.x."""
    for layer in layers:
        kind = type(layer)

        def forward(self, *arguments, kind=kind, **options):
            return (kind.forward(self, *arguments, **options),)

        layer.__class__ = type(kind.__name__, (kind,), {"forward": forward})


def extended_attention_mask(mask: torch.Tensor, shape=None, device=None) -> torch.Tensor:
    """``PreTrainedModel.get_extended_attention_mask`` of transformers 4.15: (N, L) to (N, 1, 1, L), added to
    scores, 0 where a position is seen."""
    return (1.0 - mask[:, None, None, :].double()) * -10000.0


def of_transformers_4(tokenizer):
    """A copy of a tokenizer that also has the private names by which released code asked it."""
    asked = copy.copy(tokenizer)
    asked._pad_token = tokenizer.pad_token
    return asked
