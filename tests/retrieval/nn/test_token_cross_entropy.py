from __future__ import annotations

import math

import pytest
import torch

from repro.retrieval.nn.token_cross_entropy import IGNORED, chunked_token_cross_entropy, token_cross_entropy
from tests.floats import close


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
    close(loss, loops(logits.tolist(), labels.tolist(), reduction))


def test_the_mean_is_over_the_tokens_of_the_batch_not_of_each_text(batch):
    logits, labels = batch
    flat = token_cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="mean")
    assert flat == token_cross_entropy(logits, labels, reduction="mean")
    texts = [token_cross_entropy(logits[i], labels[i], reduction="mean").item() for i in (0, 1)]
    close(flat, (2 * texts[0] + texts[1]) / 3)


def test_adding_a_constant_to_all_logits_changes_nothing(batch):
    logits, labels = batch
    loss, moved = (token_cross_entropy(x, labels, reduction="sum").item() for x in (logits, logits + 50))
    close(moved, loss)


def test_a_position_without_a_label_gets_no_gradient(batch):
    logits, labels = batch
    logits.requires_grad_()
    token_cross_entropy(logits, labels, reduction="mean").backward()
    assert (logits.grad[labels == IGNORED] == 0).all()
    assert (logits.grad[labels != IGNORED].abs().sum(dim=-1) > 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_logarithm_of_half_precision_logits_is_taken_in_float32(dtype):
    loss = token_cross_entropy(torch.zeros(1, 3000, dtype=dtype), torch.tensor([7]), reduction="mean")
    assert loss.dtype == torch.float32
    close(loss, math.log(3000))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("chunk", [1, 3, 10, 64])
def test_value_and_gradients_are_those_of_the_plain_form(reduction, chunk):
    torch.manual_seed(1)
    hidden = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
    head = torch.nn.Linear(4, 7).double()
    labels = torch.randint(7, (10,))
    labels[3] = IGNORED
    plain = token_cross_entropy(head(hidden), labels, reduction=reduction)
    chunked = chunked_token_cross_entropy(hidden, head, labels, reduction=reduction, chunk=chunk)
    close(chunked, plain)
    parameters = [hidden, *head.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad(chunked, parameters), torch.autograd.grad(plain, parameters), strict=True
    ):
        close(ours, theirs)


def test_no_more_logits_than_a_chunk_are_made_at_once():
    seen = []

    def head(states):
        seen.append(len(states))
        return states

    hidden = torch.randn(10, 4, requires_grad=True)
    chunked_token_cross_entropy(hidden, head, torch.zeros(10).long(), reduction="mean", chunk=4).backward()
    assert max(seen) == 4 and sum(seen) == 20  # once forward, once for the gradient
    seen.clear()
    chunked_token_cross_entropy(hidden, head, torch.zeros(10).long(), reduction="mean", chunk=10).backward()
    assert seen == [10]  # what fits at once is not computed twice
