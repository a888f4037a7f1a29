"""The gradient of a batch that is cut into parts which fit into memory.

Parts of a ``SumObjective`` are weighted by its denominators. Those of a ``BatchObjective`` are encoded twice,
without and with a graph (gradient caching, Gao et al. 2021).
"""

import contextlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import torch

from repro.errors import StageError
from repro.machine.system import cores, gpu_memory, local_processes
from repro.retrieval.nn.precision import HALVES
from repro.retrieval.training.declaration import VARIABLES, Execution, StepMemory
from repro.retrieval.training.objective import BatchObjective, SumObjective
from repro.retrieval.training.process_group import gather_rows, in_memory, sum_gradients, sum_values

MOST = 16


def collating_processes(*, gpu: bool) -> int:
    return max(1, min(MOST, cores() // local_processes() - 1)) if gpu else 0


Batch = dict[str, torch.Tensor]


FILE = "micro_batch.json"  # in a checkpoint, to draw the same dropout
VARIABLE = VARIABLES["micro_batch"][0]


def with_estimated_micro_batch(execution: Execution, memory: StepMemory | None, *, share: int) -> Execution:
    """Return the execution with an estimated micro-batch, unless one is set, all fit, or there is no GPU.

    ``share`` is the largest number of examples of a batch per process.
    """
    available = gpu_memory()
    if execution.micro_batch is not None or memory is None or available is None:
        return execution
    size = memory.micro_batch(share, available)
    return execution if size is None else replace(execution, micro_batch=size, origin="estimated")


class Parts:
    """Collates examples in parts of ``size`` examples (None: all).

    ``origin`` is how the size was chosen, e.g. ``"halved at step 12"``. ``cut`` is a ``SumObjective``'s.
    """

    def __init__(
        self,
        collate: Callable[[list[dict]], Batch],
        execution: Execution,
        cut: Callable[[Batch, int], list[Batch]] | None = None,
    ):
        self.collate, self.origin, self.cut = collate, execution.origin, cut
        self._asked = execution.micro_batch is not None and not execution.origin
        self._size = torch.tensor(execution.micro_batch or 0).share_memory_()

    @property
    def size(self) -> int | None:
        return int(self._size) or None

    @size.setter
    def size(self, size: int | None) -> None:
        self._size.fill_(size or 0)

    def __call__(self, examples: list[dict]) -> list[Batch]:
        size = self.size or len(examples)
        if self.cut:
            return self.cut(self.collate(examples), size)
        return [self.collate(examples[first : first + size]) for first in range(0, len(examples), size)]

    def count(self, examples: int) -> int:
        return math.ceil(examples / (self.size or examples))

    def reduce(self, examples: int, *, step: int, why: str) -> None:
        """Halve the size of the parts of ``examples``. Raises StageError if it is 1."""
        size = min(self.size or examples, examples)
        if size == 1:
            fault = f"memory does not suffice for the examples of step {step}, even one at a time ({why})"
            raise StageError(f"{fault}. {VARIABLE} cannot help. Use a machine with more memory.")
        self.size = (size + 1) // 2
        self.origin = f"halved at step {step}"

    def facts(self) -> dict[str, int | str]:
        if self.size is None:
            return {}
        origin = {"micro_batch_origin": self.origin} if self.origin else {}
        return {"micro_batch": self.size, **origin}

    def save(self, checkpoint: Path) -> None:
        (checkpoint / FILE).write_text(json.dumps({"size": self.size, "origin": self.origin}))

    def load(self, checkpoint: Path) -> None:
        record = json.loads((checkpoint / FILE).read_text())
        if record["origin"] and not self._asked:
            self.size, self.origin = record["size"], record["origin"]


Backward = Callable[[torch.Tensor], None]
RandomState = tuple[torch.Tensor, torch.Tensor | None]
Precision = Callable[[], contextlib.AbstractContextManager]


def in_single_precision(values: Batch) -> Batch:
    return {
        name: value.float() if value.dtype in HALVES.values() else value for name, value in values.items()
    }


def backward_in_parts(
    objective: SumObjective | BatchObjective,
    pieces: list[Batch],
    *,
    backward: Backward,
    autocast: Precision = contextlib.nullcontext,
) -> Batch:
    """Compute the gradient of the batch of all processes and return its losses.

    ``pieces`` are this process's share. ``backward`` is called with every loss that has a graph. Raises
    OutOfMemory if memory ran out in any process.
    """
    if isinstance(objective, SumObjective):
        losses = _sum_of_parts(objective, pieces, backward, autocast)
    elif len(pieces) > 1:
        losses = _with_cached_gradient(objective, pieces, backward, autocast)
    else:
        losses = _of_whole(objective, pieces[0], backward, autocast)
    sum_gradients(objective.parameters())
    return losses


def _of_whole(objective: BatchObjective, piece: Batch, backward: Backward, autocast: Precision) -> Batch:
    device = next(objective.parameters()).device
    rows = in_memory(lambda: _represent(objective, piece, autocast), device)
    all_rows = {name: gather_rows(values) for name, values in rows.items()}
    return in_memory(lambda: _minimise(objective.losses(all_rows), backward), device)


def _sum_of_parts(
    objective: SumObjective, pieces: list[Batch], backward: Backward, autocast: Precision
) -> Batch:
    parameter = next(objective.parameters())
    device, dtype = parameter.device, parameter.dtype

    def count_parts() -> list[Mapping[str, float | None]]:
        with autocast():  # some objectives encode texts here
            return [objective.denominators(piece) for piece in pieces]

    counts = in_memory(count_parts, device)
    means = [name for name, count in counts[0].items() if count is not None]
    sums = torch.tensor([float(sum(c[name] or 0 for c in counts)) for name in means], dtype=torch.float64)
    totals = dict(zip(means, sum_values(sums.to(device)).tolist(), strict=True))

    def add_parts() -> Batch:
        totalled = {name: torch.zeros((), dtype=torch.float64, device=device) for name in counts[0]}
        for piece, count in zip(pieces, counts, strict=True):
            with autocast():
                losses = in_single_precision(objective(piece))
            for name in losses.keys() & totals.keys():
                losses[name] = losses[name] * ((count[name] or 0) / totals[name])
            for name, loss in _minimise(losses, backward).items():
                totalled[name] += loss
        return totalled

    totalled = in_memory(add_parts, device)
    return {name: sum_values(loss).to(dtype) for name, loss in totalled.items() if totals.get(name, 1)}


def _with_cached_gradient(
    objective: BatchObjective, pieces: list[Batch], backward: Backward, autocast: Precision
) -> Batch:
    device = next(objective.parameters()).device

    def encode() -> list[tuple[RandomState, Batch]]:
        with torch.no_grad():
            return [(random_state(device), _represent(objective, piece, autocast)) for piece in pieces]

    states, outputs = zip(*in_memory(encode, device), strict=True)
    rows = {name: torch.cat([part[name] for part in outputs]) for name in outputs[0]}
    for values in rows.values():
        values.requires_grad_(values.is_floating_point())
    all_rows = {name: gather_rows(values) for name, values in rows.items()}

    def minimise() -> Batch:
        losses = _minimise(objective.losses(all_rows), backward)
        final_state = random_state(device)
        for piece, state, gradients in zip(pieces, states, _gradients_by_part(rows, outputs), strict=True):
            restore_random_state(state, device)  # the dropout of the first pass
            second_pass = _represent(objective, piece, autocast)
            pairs = [(second_pass[name], gradient) for name, gradient in gradients.items()]
            if pairs := [pair for pair in pairs if pair[0].requires_grad]:
                torch.autograd.backward([rows for rows, _ in pairs], [gradient for _, gradient in pairs])
        restore_random_state(final_state, device)
        return losses

    return in_memory(minimise, device)


def _gradients_by_part(rows: Batch, outputs: Sequence[Batch]) -> list[Batch]:
    sizes = {name: [len(part[name]) for part in outputs] for name in rows}
    split = {name: v.grad.split(sizes[name]) for name, v in rows.items() if v.grad is not None}
    return [{name: parts[place] for name, parts in split.items()} for place in range(len(outputs))]


def _represent(objective: BatchObjective, piece: Batch, autocast: Precision) -> Batch:
    with autocast():
        rows = objective.represent(piece)
    return in_single_precision(rows)


def _minimise(losses: Batch, backward: Backward) -> Batch:
    if losses and (total := reduce(add, losses.values())).requires_grad:
        backward(total)
    return {name: loss.detach() for name, loss in losses.items()}


def random_state(device: torch.device) -> RandomState:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def restore_random_state(state: RandomState, device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
