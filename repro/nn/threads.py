"""The number of threads that a model is worth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn

SMALL = 2_000_000  # parameters outside the embeddings


@contextlib.contextmanager
def threads_for(model: nn.Module) -> Iterator[None]:
    """Run a small model on one thread, a large one on as many as torch would take.

    The matrices of a small model are done before a second thread has woken up; beside other processes,
    waiting for it costs ten times the work. One thread also gives the same bits on machines with other
    numbers of cores.
    """
    size = sum(p.numel() for name, p in model.named_parameters() if "embedding" not in name)
    before = torch.get_num_threads()
    torch.set_num_threads(1 if size < SMALL else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
