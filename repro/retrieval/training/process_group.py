"""Vectors and gradients of all processes of a distributed training.

A loss is taken over what all processes have encoded, by each of them; only a process's own rows carry a
gradient, so that the processes' gradients add up to that of one process with the whole batch.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

import torch
from torch import distributed, nn

from repro.machine.system import launched_processes, launched_rank
from repro.retrieval.nn import precision
from repro.retrieval.nn.batches import first_line, is_out_of_memory

T = TypeVar("T")
LONGEST_WAIT = timedelta(days=1)  # one process may encode much longer than another, if it does not hang


def processes() -> int:
    """Return the number of processes that train together; 1 where torch.distributed was not started."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the number of this process among them, from 0; the launcher's word before torch.distributed
    starts."""
    if distributed.is_initialized():
        return distributed.get_rank()
    return launched_rank()


def join_others() -> None:
    """Connect the processes that a launcher started for one training, each with a GPU of its own if there
    are any; nothing where they are connected, or where there is one."""
    if launched_processes() == 1 or distributed.is_initialized():
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(precision.device())
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    distributed.init_process_group(backend, timeout=LONGEST_WAIT)


@contextlib.contextmanager
def launched_together() -> Iterator[tuple[int, int]]:
    """This process' rank and how many there are, able to wait for each other (torchrun, or srun with it).

    0 and 1 for a process that was started alone. Where a training has not connected them, gloo does, for the
    time of the context.
    """
    if launched_processes() == 1:
        yield 0, 1
        return
    is_ours = not distributed.is_initialized()
    if is_ours:
        distributed.init_process_group("gloo", timeout=LONGEST_WAIT)
    try:
        yield distributed.get_rank(), distributed.get_world_size()
    finally:
        if is_ours:
            distributed.destroy_process_group()


def everybody_waits() -> None:
    """Return once all processes have come here."""
    if processes() > 1:
        distributed.barrier()


def decided_by_first(decision: bool, device: torch.device) -> bool:
    """Return the decision of the process of rank 0, on every process."""
    if processes() == 1:
        return decision
    value = torch.tensor(int(decision), device=device)
    distributed.broadcast(value, 0)
    return bool(value.item())


def happened_anywhere(event: bool, device: torch.device) -> bool:
    """Return whether it happened in any process; all of them ask at the same place."""
    if processes() == 1:
        return event
    return sum_values(torch.tensor(int(event), device=device)).item() > 0


class OutOfMemory(Exception):
    """Memory ran out in a step of training, in this process or in another one that takes part."""


def in_memory(work: Callable[[], T], device: torch.device, *, sums: "GradientSums | None" = None) -> T:
    """Do ``work`` and return its value; every process calls this, and ``work`` asks nothing of the others.

    Args:
        sums: of the gradients that it computes, which are complete then.

    Raises:
        OutOfMemory: memory ran out in this process or in another; all raise it, so that none waits for ever.
    """
    words = ""
    try:
        value = work()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        words = first_line(error)
    # outside of the handler, since the error's traceback holds what was computed
    if sums is not None:
        sums.complete(failed=bool(words))
    if happened_anywhere(bool(words), device):
        raise OutOfMemory(words or "it ran out in another process")
    return value


def gather_rows(vectors: torch.Tensor) -> torch.Tensor:
    """Return the rows of all processes in the order of their ranks: (N_r, ...) of each to (sum of N_r, ...).

    Only a process's own rows carry a gradient.
    """
    if processes() == 1:
        return vectors
    if vectors.dtype == torch.bool:  # which not every backend sends
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
    """Return the sum of every process's values, without a gradient."""
    values = values.detach()
    if processes() > 1:
        values = values.clone()
        distributed.all_reduce(values)
    return values


BUCKET = 25 << 20  # bytes, as in torch's DDP


class GradientSums:
    """Gives every process the sum of all processes' gradients, in messages of about ``BUCKET``.

    They are sent while the last backward pass of a step still computes others, in the same order by every
    process, beginning with the last parameters. A parameter that is used by some of them counts as zero in
    the others; one that none uses keeps no gradient, as with a single process. Those that were used in the
    step before are sent so early, which all processes know alike; others at the end of the step.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]):
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._buckets: list[list[nn.Parameter]] = []
        self._sent: list[tuple[torch.Tensor, distributed.Work]] = []
        self._missing: list[set[int]] = []  # of each bucket, in the last backward pass
        for parameter in self._parameters if processes() > 1 else []:
            parameter.register_post_accumulate_grad_hook(self._note)

    def begin(self) -> None:
        """Send what is ready from now on: the next backward pass is this process's last one of the step."""
        self._missing = [set(map(id, bucket)) for bucket in self._buckets]

    def _note(self, parameter: torch.Tensor) -> None:
        for missing in self._missing:
            missing.discard(id(parameter))
        while len(self._sent) < len(self._missing) and not self._missing[len(self._sent)]:
            self._send(self._buckets[len(self._sent)])

    def _send(self, bucket: list[nn.Parameter]) -> None:
        whole = torch.cat([_gradient(parameter).flatten() for parameter in bucket])
        self._sent.append((whole, distributed.all_reduce(whole, async_op=True)))

    def complete(self, *, failed: bool) -> None:
        """Send the rest, and wait for all.

        Every process calls it once a step, also where memory ran out (``failed``): there the sums are lost,
        but no other process waits for ever.
        """
        if processes() == 1 or not self._parameters:
            return
        self._missing, count = [], len(self._sent)
        flags = torch.tensor([parameter.grad is not None for parameter in self._parameters])
        if failed:
            for parameter in self._parameters:
                parameter.grad = None
        for bucket in self._buckets[count:]:
            self._send(bucket)
        times = sum_values(flags.int().to(self._parameters[0].device)).tolist()
        used = [parameter for parameter, n in zip(self._parameters, times, strict=True) if n]
        early = {id(parameter) for bucket in self._buckets for parameter in bucket}
        late = _buckets([parameter for parameter in used if id(parameter) not in early])
        for bucket in late:
            self._send(bucket)
        for bucket, (whole, work) in zip([*self._buckets, *late], self._sent, strict=True):
            work.wait()
            for parameter, part in zip(bucket, whole.split([p.numel() for p in bucket]), strict=True):
                _gradient(parameter).copy_(part.view_as(parameter))
        for parameter, n in zip(self._parameters, times, strict=True):
            parameter.grad = parameter.grad if n else None
        self._sent, self._buckets = [], _buckets(used)


def _buckets(parameters: list[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Return parameters of one type together, as many as there is room for, the last ones first."""
    buckets: list[list[nn.Parameter]] = []
    for parameter in reversed(parameters):
        last = buckets[-1] if buckets else []
        size = sum(other.nbytes for other in (parameter, *last))
        if not last or parameter.dtype != last[0].dtype or size > BUCKET:
            buckets.append(last := [])
        last.append(parameter)
    return buckets


def _gradient(parameter: nn.Parameter) -> torch.Tensor:
    """Return a parameter's gradient, zero where this process did not use it."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


NO_SUMS = GradientSums([])  # of a process alone
