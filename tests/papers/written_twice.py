"""How the suite's losses and those written a second time over scalars are held together."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
import torch

from oracles.declaration import Mutation
from tests.floats import close
from tests.oracles.mutated import mutated
from tests.papers.scalars import Number, backward, gradients, numbers


@pytest.fixture(autouse=True, scope="module")
def uncollected() -> Iterator[None]:
    """Keeps Python's search for cycles away from scalars, which make none and are many."""
    gc.disable()
    yield
    gc.enable()


class Leaves:
    """Made-up inputs: tensors that take a gradient and, written once more, lists of numbers that do."""

    known: ClassVar[dict[str, tuple[float, dict[str, list]]]] = {}  # what the second writing gave, by case

    def __init__(self, **tensors: torch.Tensor):
        self.tensors = {name: tensor.requires_grad_() for name, tensor in tensors.items()}

    def held(self, loss: torch.Tensor, written: Callable[[dict[str, list]], Number], *, case: str) -> None:
        """Refuses losses and gradients that differ by more than roundings of terms as large as the loss.

        Args:
            loss: ours, of the tensors.
            written: the second writing, of lists of numbers by the tensors' names; asked once for each case.
            case: a name for these inputs and readings.
        """
        value, slopes = self.known.get(case) or self.known.setdefault(case, self._of(written))
        magnitude = max(1.0, abs(value))
        close(loss, value, summands=magnitude)
        found = torch.autograd.grad(loss, list(self.tensors.values()), allow_unused=True)
        for (name, tensor), gradient in zip(self.tensors.items(), found, strict=True):
            gradient = torch.zeros_like(tensor) if gradient is None else gradient
            again = torch.tensor(slopes[name], dtype=torch.float64)
            close(gradient, again, summands=magnitude)

    def _of(self, written: Callable[[dict[str, list]], Number]) -> tuple[float, dict[str, list]]:
        inputs = {name: numbers(tensor.tolist()) for name, tensor in self.tensors.items()}
        result = written(inputs)
        backward(result)
        return result.value, {name: gradients(given) for name, given in inputs.items()}


class Given(torch.nn.Module):
    """In the place of a part of a model: gives what it was made with, whatever it is asked."""

    def __init__(self, given: torch.Tensor):
        super().__init__()
        self.given = given

    def forward(self, *asked) -> torch.Tensor:
        return self.given


def redraw(module: torch.nn.Module, *, seed: int) -> dict[str, torch.Tensor]:
    """The module's parameters by name, now normal numbers in float64."""
    for at, parameter in enumerate(module.parameters()):
        parameter.data = random(*parameter.shape, seed=seed + at)
    return dict(module.named_parameters())


def random(*shape: int, seed: int, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers in float64."""
    return scale * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def notices(changed: Mutation, check: Callable[..., None], case: Mapping[str, Any]) -> bool:
    """Whether a check that passes fails with a changed equation."""
    with mutated(changed):
        try:
            check(**case)
        except (AssertionError, ArithmeticError, ValueError):
            return True
    return False


def named(part: Mutation | str) -> str:
    """The name of a test about a changed equation, or the name of its case."""
    if isinstance(part, str):
        return part
    return f"{part.function.rpartition(':')[2]}: {part.new}"
