"""Steps in half precision, as a GPU makes them, with what a CPU has of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from repro.retrieval.training.optimizer import Optimizer
from repro.retrieval.training.training_state import restore_generators, write_state
from tests.floats import close
from tests.retrieval.training.settings import settings


@pytest.fixture
def optimizer():
    made = replace(settings(max_grad_norm=1.0), precision="fp16")  # which a CPU is asked for here alone
    return Optimizer(nn.Linear(4, 1), made, steps=10)


def step(optimizer: Optimizer, loss_of=torch.sum) -> float:
    """One step; returns the learning rate that comes next."""
    weight = optimizer.parameters[0]
    optimizer.backward(loss_of(weight * torch.ones(4)))
    optimizer.step()
    return optimizer.rate


def gradient_taken(optimizer: Optimizer) -> torch.Tensor:
    """The gradient that Adam took in its first step, of which the first mean keeps a tenth."""
    return optimizer.adamw.state[optimizer.parameters[0]]["exp_avg"] / 0.1


def test_a_step_whose_gradient_overflowed_moves_neither_weights_nor_the_learning_rate(optimizer):
    step(optimizer)
    before, rate = optimizer.parameters[0].detach().clone(), optimizer.rate
    assert step(optimizer, lambda product: product.sum() * torch.inf) == rate
    assert torch.equal(optimizer.parameters[0], before)
    assert optimizer.skipped(2) == 1
    assert step(optimizer) != rate and not torch.equal(optimizer.parameters[0], before)
    assert optimizer.skipped(3) == 1


def test_losses_are_scaled_and_gradients_clipped_as_they_are_without_scale(optimizer):
    weight = optimizer.parameters[0]
    optimizer.backward(torch.sum(weight * 5))
    assert weight.grad.min() > 1000
    close(optimizer.step(), torch.tensor(10.0))  # the norm of four fives
    close(gradient_taken(optimizer), torch.full((1, 4), 0.5))  # of norm 1


def test_a_process_without_a_loss_can_make_its_first_step(optimizer):
    for parameter in optimizer.parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()


@pytest.mark.parametrize(("limit", "taken"), [(0.0, 5.0), (-1.0, 5.0), (1.0, 0.5), (4.0, 2.0), (20.0, 5.0)])
def test_only_a_norm_above_zero_clips(limit, taken):
    """Adam's step hardly depends on the size of a gradient, so it is read from Adam's first mean."""
    optimizer = Optimizer(nn.Linear(4, 1), settings(max_grad_norm=limit), steps=10)
    optimizer.backward(torch.sum(optimizer.parameters[0] * 5))  # four fives, of norm 10
    optimizer.step()
    close(gradient_taken(optimizer), torch.full((1, 4), taken))


@pytest.mark.parametrize("kept", [{}, {"cuda": [torch.zeros(16, dtype=torch.uint8)]}])
def test_generators_written_without_this_gpu_are_gone_on_with(tmp_path, monkeypatch, kept):
    objective = nn.Linear(4, 1)
    write_state(objective, Optimizer(objective, settings(), steps=10), tmp_path)
    file = tmp_path / "rng_state.pth"
    torch.save(torch.load(file, weights_only=False) | kept, file)
    expected = torch.rand(3)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    restore_generators(tmp_path)
    assert torch.equal(torch.rand(3), expected)
