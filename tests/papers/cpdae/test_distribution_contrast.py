from __future__ import annotations

import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from papers.cpdae import distribution_contrast as module
from papers.cpdae.distribution_contrast import (
    distribution_contrast,
    jensen_shannon,
    representation_contrast,
    version_contrast,
    word_distributions,
)
from repro.errors import UsageError
from tests.floats import close


def scores(count=6, size=37, seed=0, spread=3.0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(count, size, dtype=torch.float64, generator=generator)


def naive(p):
    m = (p[:, None] + p[None, :]) / 2  # (N, N, V)
    own = torch.special.entr(p).sum(dim=-1)
    return torch.special.entr(m).sum(dim=-1) - (own[:, None] + own[None, :]) / 2


def equation_5(sim, *, temperature, direction, reduction):
    """Eq. 5 as loops over the 2m versions, the second of text i at m + i."""
    total = len(sim)
    m, losses = total // 2, []
    for i in range(total if direction == "both" else m):
        other = i + m if i < m else i - m
        denominator = sum(math.exp(sim[i][k] / temperature) for k in range(total) if k != i)
        losses.append(-math.log(math.exp(sim[i][other] / temperature) / denominator))
    return sum(losses) / len(losses) if reduction == "mean" else sum(losses)


@pytest.mark.parametrize("block", [1, 100, 2**24])
def test_divergences_and_their_gradient_are_those_of_all_pairs_at_once(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", {"cpu": block})
    p = word_distributions(scores(), normalisation="sum").requires_grad_()
    weights = scores(6, 6, seed=1)  # not symmetric, as Eq. 5's are not
    blocks, whole = jensen_shannon(p), naive(p)
    close(blocks, whole)
    (by_blocks,) = torch.autograd.grad((blocks * weights).sum(), p)
    (at_once,) = torch.autograd.grad((whole * weights).sum(), p)
    # those of ``naive`` hold a constant for every row, which no distribution can follow
    centred = (by_blocks - by_blocks.mean(1, True)) - (at_once - at_once.mean(1, True))
    assert centred.abs().max() < 1e-12
    assert torch.autograd.gradcheck(lambda z: jensen_shannon(z.softmax(dim=1)), scores(4, 5).requires_grad_())


@pytest.mark.parametrize("block", [1, 2**24])
def test_rows_with_zeros_have_the_divergence_of_scipy_and_the_gradient_of_loops(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", {"cpu": block})
    p = word_distributions(scores(5, 12), normalisation="sum")
    p[0, :6] = p[1, 6:] = p[2, ::2] = p[:, 5] = 0  # 0 and 1 share no word; word 5 is nobody's
    p = (p / p.sum(dim=1, keepdim=True)).requires_grad_()
    found, weights = jensen_shannon(p), scores(5, 5, seed=1)
    (gradient,) = torch.autograd.grad((found * weights).sum(), p)
    close(found[0, 1], math.log(2))
    for i in range(5):
        for j in range(5):
            expected = jensenshannon(p[i].detach(), p[j].detach()) ** 2
            close(found[i, j], expected)
        for x in range(12):
            at, slope = p[i, x].item(), 0.0
            for j in range(5):
                if at > 0:
                    pushed = (weights[i, j] + weights[j, i]).item()
                    slope += pushed * math.log(2 * at / (at + p[j, x].item())) / 2
            close(gradient[i, x], slope)
    assert (gradient[p == 0] == 0).all()


def test_equal_distributions_have_exactly_no_divergence_and_no_gradient():
    p = word_distributions(scores(1).float(), normalisation="sum").repeat(4, 1).requires_grad_()
    found = jensen_shannon(p)
    assert (found == 0).all()
    found.sum().backward()
    assert (p.grad == 0).all()


def test_zeros_and_numbers_near_zero_leave_value_and_gradient_finite():
    z = torch.tensor([[200.0, -200, -200, 0], [1, 2, -200, -60], [-200, -200, 90, -90]]).requires_grad_()
    for normalisation in ("sum", "softmax"):
        p = word_distributions(z, normalisation=normalisation)
        found = jensen_shannon(p)
        assert (p == 0).any() and found.isfinite().all() and (found <= math.log(2) + 1e-6).all()
        (gradient,) = torch.autograd.grad(found.sum(), z)
        assert gradient.isfinite().all() and (gradient != 0).any()


def test_single_precision_is_near_double_precision_where_distributions_hardly_differ():
    z = scores(8, 4000, spread=0.02)
    exact = jensen_shannon(word_distributions(z, normalisation="sum"))
    found = jensen_shannon(word_distributions(z.float(), normalisation="sum"))
    assert exact.max() < 1e-4 and (found - exact).abs().max() < 2e-8


def test_no_array_over_all_pairs_and_all_words_is_kept_for_the_gradient():
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()), lambda _: None):
        jensen_shannon(word_distributions(scores(10, 50), normalisation="sum").requires_grad_())
    assert max(kept) <= 10 * 50


@pytest.mark.parametrize("normalisation", ["sum", "softmax"])
def test_distributions_sum_to_one_even_where_every_sigmoid_is_zero(normalisation):
    z = torch.tensor([[-300.0, -301, -400], [5, 0, -5]])
    p = word_distributions(z, normalisation=normalisation)
    close(p.sum(dim=1), torch.ones(2))
    expected = z[1].sigmoid() / z[1].sigmoid().sum() if normalisation == "sum" else z[1].softmax(dim=0)
    close(p[1], expected)
    assert word_distributions(z.half(), normalisation=normalisation).dtype == torch.float32


SETTINGS = [
    {"temperature": tau, "direction": direction, "reduction": reduction}
    for tau in (1.0, 0.1)
    for direction in ("both", "first")
    for reduction in ("mean", "sum")
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_loss_is_equation_5_written_as_loops(settings, scale):
    first, second = word_distributions(scores(), normalisation="sum").chunk(2)
    loss = distribution_contrast(first, second, divergence_scale=scale, **settings)
    sim = (-scale * naive(torch.cat((first, second)))).tolist()
    close(loss, equation_5(sim, **settings))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_variant_is_equation_5_with_another_similarity(settings, similarity):
    first, second = scores(6, 5, spread=0.5).chunk(2)
    loss = representation_contrast(first, second, similarity=similarity, **settings)
    rows = torch.cat((first, second))
    if similarity == "cosine":
        rows = rows / rows.norm(dim=1, keepdim=True)
    close(loss, equation_5((rows @ rows.T).tolist(), **settings))


def test_a_wrong_setting_is_a_usage_error():
    sim = scores(4, 4)
    with pytest.raises(UsageError, match="'max' is not a known normalisation"):
        word_distributions(sim, normalisation="max")
    with pytest.raises(UsageError, match="'second' is not a known direction of the contrast"):
        version_contrast(sim, temperature=1.0, direction="second", reduction="mean")
    with pytest.raises(UsageError, match="above 0"):
        version_contrast(sim, temperature=0.0, direction="both", reduction="mean")
