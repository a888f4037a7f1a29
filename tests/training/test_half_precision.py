"""Steps in half precision, as a GPU makes them, with what a CPU has of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from repro.training.optimizer import Optimizer
from repro.training.training_state import restore_generators, write_state
from tests.training.settings import settings


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


def test_a_step_whose_gradient_overflowed_moves_neither_weights_nor_the_learning_rate(optimizer):
    step(optimizer)
    before, rate = optimizer.parameters[0].detach().clone(), optimizer.rate
    assert step(optimizer, lambda product: product.sum() * torch.inf) == rate
    assert torch.equal(optimizer.parameters[0], before)
    assert optimizer.skipped(2) == 1
    assert step(optimizer) != rate and not torch.equal(optimizer.parameters[0], before)
    assert optimizer.skipped(3) == 1


def test_losses_are_scaled_and_gradients_clipped_as_they_are_without_scale(optimizer):
    optimizer.backward(torch.sum(optimizer.parameters[0] * 5))
    assert optimizer.parameters[0].grad.min() > 1000
    assert torch.isclose(optimizer.step(), torch.tensor(10.0))  # the norm of four fives


def test_a_process_without_a_loss_can_make_its_first_step(optimizer):
    for parameter in optimizer.parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()


def test_only_a_norm_above_zero_clips():
    for limit in (0.0, -1.0):
        optimizer = Optimizer(nn.Linear(4, 1), settings(max_grad_norm=limit), steps=10)
        before = optimizer.parameters[0].detach().clone()
        optimizer.backward(torch.sum(optimizer.parameters[0]))
        optimizer.step()
        optimizer.backward(torch.sum(optimizer.parameters[0]))
        optimizer.step()
        assert (optimizer.parameters[0] < before).all()


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
