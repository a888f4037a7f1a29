from __future__ import annotations

import math

import pytest
import torch

from repro.training.schedules import logarithmic, logarithmic_warmup_share


def shares(warmup, total):
    return [logarithmic_warmup_share(step, warmup=warmup, total=total) for step in range(total + 1)]


def test_the_warm_up_is_a_logarithm_and_the_rest_a_line_down_to_zero():
    found = shares(warmup=10, total=30)
    assert found[:10] == pytest.approx([math.log(step + 1) / math.log(10) for step in range(10)])
    assert found[10:] == pytest.approx([(30 - step) / 20 for step in range(10, 31)])
    assert found[0] == 0 and found[9] == found[10] == 1 and found[30] == 0


@pytest.mark.parametrize("warmup", [0, 1, 2, 50])
def test_shares_stay_between_0_and_1_whatever_the_warm_up(warmup):
    assert all(0 <= share <= 1 for share in shares(warmup, total=40))


def test_halfway_through_a_thousand_steps_it_is_far_ahead_of_a_linear_warm_up():
    assert logarithmic_warmup_share(99, warmup=1000, total=5000) == pytest.approx(2 / 3)


def test_a_scheduler_is_resumed_where_it_was():
    def made():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
        return optimizer, logarithmic(optimizer, warmup=4, total=12)

    straight, rates = made(), []
    for _ in range(12):
        rates.append(straight[0].param_groups[0]["lr"])
        straight[0].step()
        straight[1].step()
    assert rates == pytest.approx([0.5 * share for share in shares(4, 12)[:12]])
    first = made()
    for _ in range(5):
        first[0].step()
        first[1].step()
    second = made()
    second[1].load_state_dict(first[1].state_dict())
    assert second[1].get_last_lr() == pytest.approx([rates[5]])
