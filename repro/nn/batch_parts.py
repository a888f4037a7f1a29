"""The gradient of a batch that is encoded part by part, alone or beside other processes.

Two kinds of objectives can be trained so. One whose losses are means over things of single examples has
``denominators(batch) -> {loss: how many}`` (None for a loss that is a sum); its parts are weighted by them.
One whose examples meet in its losses has ``represent(batch) -> {name: rows}`` and ``losses(represented) ->
named losses``, its ``forward`` being the second of the first. What all processes represent is brought
together, and several parts are encoded twice, without and with a graph, around the gradient of the losses
(gradient caching; Gao et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from repro.nn.across_processes import gathered, summed

Batch = dict[str, torch.Tensor]
Backward = Callable[[torch.Tensor], None]


def can_be_parted(objective: nn.Module) -> bool:
    """Whether the objective is of one of the two kinds."""
    return hasattr(objective, "denominators") or hasattr(objective, "represent")


def examples_in(batch: Batch) -> int:
    """The batch's examples: each has one row, or equally many, in every array."""
    return min(len(rows) for rows in batch.values())


def parts(batch: Batch, size: int) -> list[Batch]:
    """The batch in parts of ``size`` examples, the last one of what is left."""
    count = examples_in(batch)
    each = {name: len(rows) // count for name, rows in batch.items()}
    assert all(len(rows) == each[name] * count for name, rows in batch.items()), "rows are not by example"
    return [
        {name: rows[first * each[name] : (first + size) * each[name]] for name, rows in batch.items()}
        for first in range(0, count, size)
    ]


def backward_in_parts(objective: nn.Module, batch: Batch, *, size: int, backward: Backward) -> Batch:
    """Add the gradient of the batch of all processes to the parameters; a process adds its own share of it.

    Args:
        objective: of one of the two kinds.
        batch: this process's share of the whole batch.
        size: examples in a part.
        backward: called for every loss that has a graph, as ``torch.Tensor.backward`` is.

    Returns:
        The losses of the whole batch, by name, without a graph.
    """
    pieces = parts(batch, size)
    if hasattr(objective, "denominators"):
        return _accumulated(objective, pieces, backward)
    if len(pieces) > 1:
        return _cached(objective, pieces, backward)
    represented = objective.represent(batch)
    losses = objective.losses({name: gathered(rows) for name, rows in represented.items()})
    _minimise(losses, backward)
    return {name: loss.detach() for name, loss in losses.items()}


def _accumulated(objective: nn.Module, pieces: list[Batch], backward: Backward) -> Batch:
    counts = [objective.denominators(piece) for piece in pieces]
    device = next(objective.parameters()).device
    means = [name for name, count in counts[0].items() if count is not None]
    own = torch.tensor([float(sum(c[name] for c in counts)) for name in means], dtype=torch.float64)
    totals = dict(zip(means, summed(own.to(device)).tolist(), strict=True))
    found = {name: torch.zeros((), dtype=torch.float64, device=device) for name in counts[0]}
    for piece, counted in zip(pieces, counts, strict=True):
        losses = objective(piece)
        for name in losses.keys() & totals.keys():
            losses[name] = losses[name] * (counted[name] / totals[name])
        _minimise(losses, backward)
        for name, loss in losses.items():
            found[name] += loss.detach()
    return {name: summed(loss).float() for name, loss in found.items() if totals.get(name, 1)}


def _cached(objective: nn.Module, pieces: list[Batch], backward: Backward) -> Batch:
    device = next(objective.parameters()).device
    states, encoded = [], []
    with torch.no_grad():
        for piece in pieces:
            states.append(_random_state(device))
            encoded.append(objective.represent(piece))
    own = {name: torch.cat([some[name] for some in encoded]) for name in encoded[0]}
    for rows in own.values():
        rows.requires_grad_(rows.is_floating_point())
    losses = objective.losses({name: gathered(rows) for name, rows in own.items()})
    _minimise(losses, backward)
    after, done = _random_state(device), dict.fromkeys(own, 0)
    for piece, state in zip(pieces, states, strict=True):
        _restore_random_state(state, device)  # the dropout of the first pass
        again, pairs = objective.represent(piece), []
        for name, rows in again.items():
            first, done[name] = done[name], done[name] + len(rows)
            if rows.requires_grad and own[name].grad is not None:
                pairs.append((rows, own[name].grad[first : done[name]]))
        if pairs:
            torch.autograd.backward(*map(list, zip(*pairs, strict=True)))
    _restore_random_state(after, device)
    return {name: loss.detach() for name, loss in losses.items()}


def _minimise(losses: Batch, backward: Backward) -> None:
    total = sum(losses.values())
    if losses and total.requires_grad:
        backward(total)


def _random_state(device: torch.device) -> tuple[torch.Tensor, torch.Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _restore_random_state(state: tuple[torch.Tensor, torch.Tensor | None], device: torch.device) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], device)
