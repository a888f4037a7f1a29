"""Vectors and gradients of all processes of a distributed training.

Each process computes the loss over all vectors. Only its own carry a gradient, so that gradients add up.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import compress
from typing import TypeVar, cast

import torch
from torch import distributed, nn

from repro.machine.system import launched_processes, launched_rank
from repro.retrieval.nn import batches, precision

T = TypeVar("T")
LONGEST_WAIT = timedelta(days=1)  # one may encode much longer than another


def processes() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the rank of this process, from 0, also before connecting."""
    return distributed.get_rank() if distributed.is_initialized() else launched_rank()


def join_others() -> None:
    """Connect the processes of one training, each with its own GPU if there are any."""
    if launched_processes() == 1 or distributed.is_initialized():
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(precision.device())
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, timeout=LONGEST_WAIT)


@contextlib.contextmanager
def launched_together() -> Iterator[tuple[int, int]]:
    """Connect torchrun's processes in this context. Yields this one's rank and their number, e.g. (0, 1)."""
    is_ours = launched_processes() > 1 and not distributed.is_initialized()
    join_others()
    try:
        yield rank(), processes()
    finally:
        if is_ours:
            distributed.destroy_process_group()


def everybody_waits() -> None:
    if processes() > 1:
        distributed.barrier()


def decided_by_first(decision: bool, device: torch.device) -> bool:
    if processes() == 1:
        return decision
    value = torch.tensor(int(decision), device=device)
    distributed.broadcast(value, 0)
    return bool(value.item())


class OutOfMemory(Exception):
    """Memory ran out in a training step, in this process or another."""


def in_memory(work: Callable[[], T], device: torch.device) -> T:
    """Return ``work()``. Raises OutOfMemory in all processes if memory runs out in one."""
    value, words = batches.attempted(work)
    failures = int(bool(words))
    if processes() > 1:
        failures = int(sum_values(torch.tensor(failures, device=device)).item())
    if failures:
        raise OutOfMemory(words or "it ran out in another process")
    return cast(T, value)


def gather_rows(vectors: torch.Tensor) -> torch.Tensor:
    """Concatenate the rows of all processes: (N_r, ...) to (sum of N_r, ...)."""
    if processes() == 1:
        return vectors
    if vectors.dtype == torch.bool:  # not every backend sends it
        return gather_rows(vectors.byte()).bool()
    counts = torch.zeros(processes(), dtype=torch.int64, device=vectors.device)
    counts[distributed.get_rank()] = len(vectors)
    distributed.all_reduce(counts)
    padded = vectors.new_zeros((int(counts.max()), *vectors.shape[1:]))
    padded[: len(vectors)] = vectors.detach()
    parts = [torch.empty_like(padded) for _ in range(processes())]
    distributed.all_gather(parts, padded)
    rows = [part[:count] for part, count in zip(parts, counts.tolist(), strict=True)]
    rows[distributed.get_rank()] = vectors
    return torch.cat(rows)


def sum_values(values: torch.Tensor) -> torch.Tensor:
    values = values.detach()
    if processes() > 1:
        values = values.clone()
        distributed.all_reduce(values)
    return values


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Sum the gradients over all processes, in place. Raises OutOfMemory."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if processes() == 1 or not trained:
        return
    device = trained[0].device
    flags = torch.tensor([parameter.grad is not None for parameter in trained], device=device)
    times = sum_values(flags.int()).tolist()
    if not (used := list(compress(trained, times))):
        return
    flat = in_memory(lambda: torch.cat([_gradient(parameter).flatten() for parameter in used]), device)
    distributed.all_reduce(flat)
    for parameter, part in zip(used, flat.split([p.numel() for p in used]), strict=True):
        _gradient(parameter).copy_(part.view_as(parameter))


def _gradient(parameter: nn.Parameter) -> torch.Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
