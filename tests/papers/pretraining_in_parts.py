"""Every pre-training objective of the papers, small, as ``pretraining_cases.py`` by its tests makes it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

from tests.tiny_models import tiny_text, tiny_tokenizer

PARTS = ((0, 2), (2, 3), (3, 6))  # the second is one text in which nothing can be masked
COUNT = PARTS[-1][1]


def _cases() -> dict[str, tuple[Callable[..., nn.Module], object, dict]]:
    """Case -> ``made``, kind and changes for ``made(kind, folder, **changes)``, of every paper."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*/pretraining_cases.py")):
        module = importlib.import_module(f"tests.papers.{path.parent.name}.pretraining_cases")
        found |= {name: (module.made, kind, changes) for name, (kind, changes) in module.CASES.items()}
    return found


CASES = _cases()


def objective(name: str, folder, *, dropout: float = 0.0, **options) -> nn.Module:
    """One of ``CASES``, always with the same weights, in float64; ``folder`` is for term statistics."""
    made, kind, changes = CASES[name]
    built = made(kind, folder, **changes | options | ({"dropout": dropout} if dropout else {}))
    for parameter in built.parameters():  # else all vectors are alike, and so are all losses
        if parameter.dim() == 2:
            parameter.data *= 6
    return built.double()


def batches(built: nn.Module, parts=PARTS, *, epoch: int = 0) -> list[dict[str, torch.Tensor]]:
    texts_of_epoch = rows(epoch)
    return [built.collate(texts_of_epoch[first:end]) for first, end in parts]


def rows(epoch: int = 0, *, count: int = COUNT) -> list[dict]:
    return [_row(index, epoch) for index in range(count)]


def likeliest(hidden: torch.Tensor, head) -> torch.Tensor:
    """In the place of SimLM's ``sampled``: the same tokens, whatever the part."""
    return head(hidden).argmax(dim=-1)


def _row(index: int, epoch: int) -> dict:
    return _tokens(index) | {"epoch": epoch, "index": index}


@functools.cache
def _tokens(index: int) -> dict[str, np.ndarray]:
    """Tokens, which are sentences and spans too; the third text is unknown words only."""
    generator = np.random.default_rng(index)
    sentences = [f"{tiny_text(generator, 3 + index)}." for _ in range(4)]
    if index == PARTS[1][0]:
        sentences = ["[UNK]"] * 4
    ids = [tiny_tokenizer()(text, add_special_tokens=False)["input_ids"] for text in sentences]
    return {
        "input_ids": np.concatenate(ids),
        "sentences": np.array([len(some) for some in ids]),
        "spans": np.array([1, 2, 1]),
    }
