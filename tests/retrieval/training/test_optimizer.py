import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from repro.retrieval.training.checkpoints import restore_generators, write_state
from repro.retrieval.training.optimizer import (
    Optimizer,
    deepspeed_share,
    logarithmic_warmup_share,
    rate_schedule,
)
from repro.stage_table import SCHEDULES
from tests.floats import close
from tests.retrieval.training.settings import settings


def shares(warmup, total):
    return [logarithmic_warmup_share(step, warmup=warmup, total=total) for step in range(total + 1)]


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_that_a_recipe_may_name_warms_up_and_comes_down_unless_it_is_constant(name):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule, rates = rate_schedule(optimizer, settings(schedule=name, warmup_ratio=0.2), steps=20), []
    for _ in range(20):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert (max(rates[:3]) < 0.5) == (name not in ("constant", "deepspeed-0.6.0"))
    assert max(rates) == pytest.approx(0.5) and (rates[-1] < 0.4) == ("constant" not in name)


def test_the_warm_up_is_a_logarithm_and_the_rest_a_line_down_to_zero():
    found = shares(warmup=10, total=30)
    assert found[:10] == pytest.approx([math.log(step + 1) / math.log(10) for step in range(10)])
    assert found[10:] == pytest.approx([(30 - step) / 20 for step in range(10, 31)])
    assert found[0] == 0 and found[9] == found[10] == 1 and found[30] == 0


@pytest.mark.parametrize("warmup", [0, 1, 2, 50])
def test_shares_stay_between_0_and_1_whatever_the_warm_up(warmup):
    assert all(0 <= share <= 1 for share in shares(warmup, total=40))


@pytest.mark.parametrize(("warmup", "total"), [(10, 30), (2, 7), (0, 9), (1000, 4000)])
def test_deepspeed_takes_its_first_step_at_the_peak_and_each_later_one_a_step_late(warmup, total):
    rate, iteration, taken = 1.0, -1, []
    for _ in range(total):
        taken.append(rate)  # the optimiser's step comes first, the scheduler's after it
        iteration += 1
        if iteration < max(2, warmup):
            rate = math.log(iteration + 1) / math.log(max(2, warmup))
        else:
            rate = max(0.0, (total - iteration) / max(1, total - max(2, warmup)))
    assert taken[:2] == [1.0, 0.0]
    found = [deepspeed_share(step, warmup=warmup, total=total) for step in range(total)]
    close(found, taken)


@pytest.fixture
def optimizer():
    made = replace(settings(max_grad_norm=1.0), precision="fp16")  # which a CPU is asked for here alone
    return Optimizer(nn.Linear(4, 1), made, steps=10)


def step(optimizer: Optimizer, loss_of=torch.sum) -> float:
    weight = optimizer.parameters[0]
    optimizer.backward(loss_of(weight * torch.ones(4)))
    optimizer.step()
    return optimizer.rate


def gradient_taken(optimizer: Optimizer) -> torch.Tensor:
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
    close(optimizer.step(), torch.tensor(10.0))
    close(gradient_taken(optimizer), torch.full((1, 4), 0.5))


def test_a_process_without_a_loss_can_make_its_first_step(optimizer):
    for parameter in optimizer.parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()


@pytest.mark.parametrize(("limit", "taken"), [(0.0, 5.0), (-1.0, 5.0), (1.0, 0.5), (4.0, 2.0), (20.0, 5.0)])
def test_only_a_norm_above_zero_clips(limit, taken):
    optimizer = Optimizer(nn.Linear(4, 1), settings(max_grad_norm=limit), steps=10)
    optimizer.backward(torch.sum(optimizer.parameters[0] * 5))
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
