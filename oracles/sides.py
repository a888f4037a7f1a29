"""One of the two sides of a comparison, what of it is written down, and how far two of them are apart."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from oracles.written import Difference, Gradient, ReleasedOutcome
from repro.graph import canonical


@dataclass(frozen=True)
class Side:
    """The outcome of one side, ours or the released code's, on the inputs.

    Attributes:
        losses: by name.
        gradients: tensors by the name of the parameter, as ours calls it.
        values: by name, what has to be equal: plain JSON, or ``digest`` of what is long.
        compared: how many single values stand behind ``values``.
        counts: by name, how often each outcome was drawn.
    """

    losses: Mapping[str, float] = field(default_factory=dict)
    gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    compared: int = 0
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def written(self) -> ReleasedOutcome:
        """Its numbers, as the file has them."""
        return ReleasedOutcome(
            losses=dict(self.losses),
            gradient=_gradient(self.gradients) if self.gradients else None,
            values=dict(self.values),
            counts={name: tuple(map(int, numbers)) for name, numbers in self.counts.items()},
        )


def gradients(module: nn.Module, name=lambda name: name) -> dict[str, torch.Tensor]:
    """The gradients of a module's parameters that have one, by ``name`` of the parameter's own name."""
    return {name(own): p.grad for own, p in module.named_parameters() if p.grad is not None}


def digest(value: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a JSON value, an array or a tensor."""
    plain = value.tolist() if isinstance(value, np.ndarray | torch.Tensor) else value
    return hashlib.sha256(canonical(plain).encode()).hexdigest()[:16]


def difference(ours: Side, official: Side) -> Difference:
    """The largest differences of two whole sides; infinite where one has what the other lacks."""
    losses = _largest(ours.losses, official.losses, lambda a, b: abs(a - b))
    slopes = _largest(ours.gradients, official.gradients, lambda a, b: (a - b).abs().max().item())
    return Difference(
        loss=losses,
        gradient=slopes,
        cases=ours.compared or None,
        deviation=deviation(ours.counts, official.counts),
    )


def faults(ours: ReleasedOutcome, official: ReleasedOutcome, *, tolerance: float) -> list[str]:
    """Where ours is not what was written down of the released code; empty where it is equal.

    Losses and numbers of the gradient are within ``tolerance`` of the official ones, or within that share of
    a loss above 1 and of the whole gradient's norm; values are equal; shares of draws are at most
    ``MOST_ERRORS`` standard errors apart.
    """
    wrong = [
        f"loss {name}: {ours.losses.get(name)} for {loss}"
        for name, loss in official.losses.items()
        if not _near(ours.losses.get(name), loss, tolerance * max(1.0, abs(loss)))
    ]
    wrong += [f"values {name}" for name, v in official.values.items() if ours.values.get(name) != v]
    apart = deviation(ours.counts, official.counts)
    if apart is not None and not apart <= MOST_ERRORS:
        wrong.append(f"draws {apart:.1f} standard errors apart")
    return wrong + _slope_faults(ours.gradient, official.gradient, tolerance)


MOST_ERRORS = 4.5  # of some hundred outcomes drawn from one distribution, one in 1,500 comparisons has more


def deviation(ours: Mapping[str, Sequence[int]], official: Mapping[str, Sequence[int]]) -> float | None:
    """The largest difference between the shares of an outcome, in standard errors; None without counts."""
    if not official:
        return None
    return max(
        abs(a / sum(ours[name]) - b / sum(numbers)) / _error(a, b, sum(ours[name]), sum(numbers))
        for name, numbers in official.items()
        for a, b in zip(ours[name], numbers, strict=True)
    )


def _error(a: int, b: int, of_a: int, of_b: int) -> float:
    share = (a + b) / (of_a + of_b)
    return math.sqrt(share * (1 - share) * (1 / of_a + 1 / of_b)) or math.inf


def _largest(ours: Mapping, official: Mapping, apart) -> float | None:
    if not official:
        return None
    if set(ours) != set(official):
        return math.inf
    return max(apart(ours[name], official[name]) for name in official)


def _gradient(slopes: Mapping[str, torch.Tensor]) -> Gradient:
    numbers = {name: _two_numbers(name, slope.double()) for name, slope in sorted(slopes.items())}
    return Gradient(norm=math.hypot(*(norm for norm, _ in numbers.values())), parameters=numbers)


def _two_numbers(name: str, slope: torch.Tensor) -> tuple[float, float]:
    """The norm of a gradient, and its product with a vector of normal numbers drawn from the name."""
    direction = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(slope.numel())
    return slope.norm().item(), float(slope.flatten().numpy() @ direction)


def _slope_faults(ours: Gradient | None, official: Gradient | None, tolerance: float) -> list[str]:
    if official is None:
        return []
    if ours is None or set(ours.parameters) != set(official.parameters):
        return ["the parameters that have a gradient"]
    room = tolerance * max(1.0, official.norm)
    return [
        f"gradient of {name}: {ours.parameters[name]} for {numbers}"
        for name, numbers in official.parameters.items()
        if not all(_near(a, b, room) for a, b in zip(ours.parameters[name], numbers, strict=True))
    ]


def _near(ours: float | None, official: float, room: float) -> bool:
    return ours is not None and abs(ours - official) <= room  # False for what is not a number
