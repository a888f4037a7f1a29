"""The gradient of a batch that is encoded part by part, alone or beside other processes.

The parts of a ``SumObjective`` are weighted by its denominators. What all processes represent of a
``BatchObjective`` is brought together, and several parts are encoded twice, without and with a graph, around
the gradient of the losses (gradient caching; Gao et al. 2021).
"""

import contextlib
from collections.abc import Callable, Sequence

import torch
from torch import nn

from repro.retrieval.training.objective import BatchObjective, SumObjective
from repro.retrieval.training.process_group import gather_rows, in_memory, sum_values

Batch = dict[str, torch.Tensor]
Backward = Callable[[torch.Tensor], None]
RandomState = tuple[torch.Tensor, torch.Tensor | None]
Precision = Callable[[], contextlib.AbstractContextManager]
HALVES = (torch.float16, torch.bfloat16)


def in_single_precision(values: Batch) -> Batch:
    """Losses or rows as they are, but for those in half precision."""
    return {name: value.float() if value.dtype in HALVES else value for name, value in values.items()}


def backward_in_parts(
    objective: SumObjective | BatchObjective,
    pieces: list[Batch],
    *,
    backward: Backward,
    autocast: Precision = contextlib.nullcontext,
) -> Batch:
    """Add the gradient of the batch of all processes to the parameters; a process adds its own share of it.

    Args:
        objective: also an ``nn.Module``.
        pieces: this process's share of the whole batch, collated part by part; at least one.
        backward: called for every loss that has a graph, as ``torch.Tensor.backward`` is.
        autocast: makes the context that a part is encoded in; losses that meet are taken in single precision.

    Returns:
        The losses of the whole batch, by name, without a graph.

    Raises:
        OutOfMemory: memory ran out, in this process or another.
    """
    if isinstance(objective, SumObjective):
        return _sum_of_parts(objective, pieces, backward, autocast)
    if len(pieces) > 1:
        return _with_cached_gradient(objective, pieces, backward, autocast)
    device = next(objective.parameters()).device
    rows = in_memory(lambda: _represent(objective, pieces[0], autocast), device)
    all_rows = {name: gather_rows(values) for name, values in rows.items()}

    def minimise() -> Batch:
        losses = objective.losses(all_rows)
        _minimise(losses, backward)
        return {name: loss.detach() for name, loss in losses.items()}

    return in_memory(minimise, device)


def _sum_of_parts(
    objective: SumObjective, pieces: list[Batch], backward: Backward, autocast: Precision
) -> Batch:
    """Losses that are means count in each part by what the part has of the whole batch's denominator."""
    device = next(objective.parameters()).device

    def count_parts() -> list[dict[str, int | None]]:
        with autocast():  # one that draws what it predicts encodes the texts here
            return [objective.denominators(piece) for piece in pieces]

    counts = in_memory(count_parts, device)
    totals = _totals(counts, device)

    def add_parts() -> Batch:
        sums = {name: torch.zeros((), dtype=torch.float64, device=device) for name in counts[0]}
        for piece, count in zip(pieces, counts, strict=True):
            with autocast():
                losses = in_single_precision(objective(piece))
            for name in losses.keys() & totals.keys():
                losses[name] = losses[name] * (count[name] / totals[name])
            _minimise(losses, backward)
            for name, loss in losses.items():
                sums[name] += loss.detach()
        return sums

    sums = in_memory(add_parts, device)
    return {name: sum_values(loss).float() for name, loss in sums.items() if totals.get(name, 1)}


def _totals(counts: list[dict[str, int | None]], device: torch.device) -> dict[str, float]:
    """The denominator in the whole batch of each loss that is a mean."""
    means = [name for name, count in counts[0].items() if count is not None]
    sums = torch.tensor([float(sum(c[name] for c in counts)) for name in means], dtype=torch.float64)
    return dict(zip(means, sum_values(sums.to(device)).tolist(), strict=True))


def _with_cached_gradient(
    objective: BatchObjective, pieces: list[Batch], backward: Backward, autocast: Precision
) -> Batch:
    """The losses' gradient at what all parts are represented by, then part by part through the encoder."""
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
        losses = objective.losses(all_rows)
        _minimise(losses, backward)
        final_state = random_state(device)
        for piece, state, gradients in zip(pieces, states, _gradients_by_part(rows, outputs), strict=True):
            restore_random_state(state, device)  # the dropout of the first pass
            second_pass = _represent(objective, piece, autocast)
            _pass_gradients([(second_pass[name], gradient) for name, gradient in gradients.items()])
        restore_random_state(final_state, device)
        return {name: loss.detach() for name, loss in losses.items()}

    return in_memory(minimise, device)


def _gradients_by_part(rows: Batch, outputs: Sequence[Batch]) -> list[Batch]:
    """The gradients of all parts' rows cut into those of each part."""
    sizes = {name: [len(part[name]) for part in outputs] for name in rows}
    split = {name: v.grad.split(sizes[name]) for name, v in rows.items() if v.grad is not None}
    return [{name: parts[place] for name, parts in split.items()} for place in range(len(outputs))]


def _pass_gradients(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Pass gradients on from the rows that they belong to, as far as these have a graph."""
    if pairs := [pair for pair in pairs if pair[0].requires_grad]:
        torch.autograd.backward(*map(list, zip(*pairs, strict=True)))


def _represent(objective: nn.Module, piece: Batch, autocast: Precision) -> Batch:
    with autocast():  # left before the losses, which are taken in single precision
        rows = objective.represent(piece)
    return in_single_precision(rows)


def _minimise(losses: Batch, backward: Backward) -> None:
    total = sum(losses.values())
    if losses and total.requires_grad:
        backward(total)


def random_state(device: torch.device) -> RandomState:
    """The state of torch's generators, of the CPU and of the device where that is a GPU."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def restore_random_state(state: RandomState, device: torch.device) -> None:
    """Have torch draw from there what it drew before."""
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
