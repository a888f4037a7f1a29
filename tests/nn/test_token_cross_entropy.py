from __future__ import annotations

import math

import pytest
import torch

from repro.nn.token_cross_entropy import IGNORED, token_cross_entropy


def loops(logits, labels, reduction):
    total, count = 0.0, 0
    for text, marks in zip(logits, labels, strict=True):
        for scores, label in zip(text, marks, strict=True):
            if label != IGNORED:
                total += math.log(sum(math.exp(score) for score in scores)) - scores[label]
                count += 1
    return total / count if reduction == "mean" else total


@pytest.fixture
def batch():
    logits = torch.randn(2, 4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[2, IGNORED, 6, IGNORED], [IGNORED, 0, IGNORED, IGNORED]])
    return logits, labels


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_is_the_equation_written_as_loops(batch, reduction):
    logits, labels = batch
    loss = token_cross_entropy(logits, labels, reduction=reduction)
    assert loss.item() == pytest.approx(loops(logits.tolist(), labels.tolist(), reduction), rel=1e-12)


def test_the_mean_is_over_the_tokens_of_the_batch_not_of_each_text(batch):
    logits, labels = batch
    flat = token_cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="mean")
    assert flat == token_cross_entropy(logits, labels, reduction="mean")
    texts = [token_cross_entropy(logits[i], labels[i], reduction="mean").item() for i in (0, 1)]
    assert flat.item() == pytest.approx((2 * texts[0] + texts[1]) / 3)


def test_adding_a_constant_to_all_logits_changes_nothing(batch):
    logits, labels = batch
    loss, moved = (token_cross_entropy(x, labels, reduction="sum").item() for x in (logits, logits + 50))
    assert moved == pytest.approx(loss, rel=1e-12)


def test_a_position_without_a_label_gets_no_gradient(batch):
    logits, labels = batch
    logits.requires_grad_()
    token_cross_entropy(logits, labels, reduction="mean").backward()
    assert (logits.grad[labels == IGNORED] == 0).all()
    assert (logits.grad[labels != IGNORED].abs().sum(dim=-1) > 0).all()
