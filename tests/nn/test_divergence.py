from __future__ import annotations

import math

import pytest
import torch

from repro.nn.divergence import divergence


def logits(seed, n=5, k=4):
    return torch.randn(n, k, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 3


def as_loops(target, scores):
    total = 0.0
    for t, s in zip(target.tolist(), scores.tolist(), strict=True):
        p, q = ([math.exp(x) / sum(map(math.exp, row)) for x in row] for row in (t, s))
        total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    return total / len(target)


def test_it_is_equation_5_written_as_loops_and_the_mean_over_queries():
    target, scores = logits(0), logits(1)
    assert divergence(target, scores).item() == pytest.approx(as_loops(target, scores), rel=1e-11)


def test_it_is_torchs_own_divergence_of_log_probabilities():
    target, scores = logits(0), logits(1)
    theirs = torch.nn.KLDivLoss(reduction="batchmean", log_target=True)(
        scores.log_softmax(-1), target.log_softmax(-1)
    )
    torch.testing.assert_close(divergence(target, scores), theirs)


def test_adding_a_number_to_a_querys_scores_changes_nothing():
    target, scores = logits(0), logits(1)
    again = divergence(target + torch.arange(5.0).unsqueeze(1), scores - 7)
    assert again.item() == pytest.approx(divergence(target, scores).item(), rel=1e-12)


def test_equal_distributions_leave_no_gradient():
    scores = logits(0).requires_grad_()
    loss = divergence(logits(0) + 2, scores)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-15)
    torch.testing.assert_close(scores.grad, torch.zeros_like(scores), atol=1e-15, rtol=0)


def test_large_half_precision_scores_stay_finite():
    target, scores = (logits(seed).half() * 100 for seed in (0, 1))
    assert divergence(target, scores).isfinite() and divergence(target, scores).dtype == torch.float32
