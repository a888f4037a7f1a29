"""§3.3, Eqs. 7-9: what the contrast of word distributions does to common and to informative words."""

from __future__ import annotations

import math

import pytest
import torch

from papers.cpdae.distribution_contrast import (
    distribution_contrast,
    jensen_shannon,
    version_contrast,
    word_distributions,
)
from tests.floats import close
from tests.papers.cpdae.equation_4 import reconstruction

EQUATION_5 = {"temperature": 1.0, "direction": "both", "reduction": "mean"}
TEXTS, COMMON = 6, 3  # words 0..2 are in all texts, word 3 + i in text i only, words 9.. in none


def occurrences(size: int = 40) -> torch.Tensor:
    """(6, V) bool: which text has which word."""
    y = torch.zeros(TEXTS, size, dtype=torch.bool)
    y[:, :COMMON] = True
    for text in range(TEXTS):
        y[text, COMMON + text] = True
    return y


def idealised(size: int = 40, *, high: float = 0.9, low: float = 0.02) -> torch.Tensor:
    """Logits (12, V) as §3.3 supposes them: two equal versions of a text, every word it has equally sure."""
    z = torch.where(occurrences(size), high, low).double().logit()
    return torch.cat((z, z)).requires_grad_()


def contrast(z: torch.Tensor) -> torch.Tensor:
    versions = word_distributions(z, normalisation="sum").chunk(2)
    return distribution_contrast(*versions, divergence_scale=1.0, **EQUATION_5)


def pair(size: int = 30) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    p, q = torch.rand(2, size, dtype=torch.float64, generator=generator).pow(4)
    return p / p.sum(), q / q.sum()


def equation_7(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """What every word adds to the right side of Eq. 7 as printed, (V,)."""
    return -torch.xlogy(p, p) - torch.xlogy(q, q) + torch.xlogy(p + q, p + q)


def shares(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """What every word adds to JS(P, Q), (V,)."""
    m = (p + q) / 2
    return (torch.xlogy(p, p / m) + torch.xlogy(q, q / m)) / 2


def test_equation_7_is_minus_twice_the_divergence_but_for_2_log_2():
    p, q = pair()
    printed, divergence = equation_7(p, q).sum(), jensen_shannon(torch.stack((p, q)))[0, 1]
    close(printed, 2 * math.log(2) - 2 * divergence.item())
    close(shares(p, q).sum(), divergence)


def test_what_equation_7_drops_is_no_constant_on_a_part_of_the_vocabulary():
    p, q = pair()
    for words in (slice(0, 5), slice(5, 30)):
        dropped = (equation_7(p, q) + 2 * shares(p, q))[words].sum()
        close(dropped, math.log(2) * (p + q)[words].sum().item())
        assert abs(dropped.item() - 2 * math.log(2)) > 0.1


def test_equations_8_and_9_hold_the_dropped_term_and_nothing_else():
    """A common word adds 2 p log 2 as printed, to JS nothing; an informative one 0, to JS p/2 log 2."""
    p = torch.tensor([0.5, 0.3, 0.2, 0.0], dtype=torch.float64)
    q = torch.tensor([0.5, 0.3, 0.0, 0.2], dtype=torch.float64)
    two_logs = 2 * math.log(2) * p[:2]
    close(equation_7(p, q)[:2], two_logs)
    close(equation_7(p, q)[2:], torch.zeros_like(p[2:]), summands=1)
    assert shares(p, q)[:2].tolist() == [0, 0]
    assert shares(p, q)[2:].tolist() == pytest.approx([0.1 * math.log(2)] * 2)


def test_with_or_without_the_constant_the_gradient_at_the_logits_is_the_same():
    z = torch.randn(8, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    p = word_distributions(z, normalisation="sum")
    as_printed = equation_7(p[:, None], p[None, :]).sum(dim=-1)  # (8, 8)
    (printed,) = torch.autograd.grad(version_contrast(as_printed, **EQUATION_5), z, retain_graph=True)
    real = distribution_contrast(*p.chunk(2), divergence_scale=2.0, **EQUATION_5)
    close(torch.autograd.grad(real, z)[0], printed)


def test_a_common_word_itself_gets_no_gradient_and_is_lowered_by_the_normalisation_alone():
    z = idealised()
    p = word_distributions(z, normalisation="sum")
    p.retain_grad()
    versions = p.chunk(2)
    distribution_contrast(*versions, divergence_scale=1.0, **EQUATION_5).backward()
    words = occurrences().repeat(2, 1)
    close(p.grad[:, :COMMON], torch.zeros_like(p[:, :COMMON]), summands=1)
    own = words.clone()
    own[:, :COMMON] = False
    assert (p.grad[own] < 0).all()
    s, mean = z.detach().sigmoid(), (p.detach() * p.grad).sum(dim=1, keepdim=True)
    expected = s * (1 - s) / s.sum(dim=1, keepdim=True) * (p.grad - mean)
    close(z.grad, expected)
    assert (z.grad[:, :COMMON] > 0).all() and (z.grad[own] < 0).all()
    # a word of no text is pushed down just so, for the same reason, in proportion to s (1 - s)
    ratio = z.grad[:, -1] / z.grad[:, 0]
    close(ratio, torch.full_like(ratio, 0.02 * 0.98 / (0.9 * 0.1)), dtype="float32")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("direction", ["both", "first"])
@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_so_it_is_where_versions_and_probabilities_differ_a_little(seed, direction, temperature):
    """Logits moved by N(0, 0.3): common words still down, own words up; of absent words only most go down."""
    z, generator = idealised(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        z += 0.3 * torch.randn(z.shape, generator=generator, dtype=z.dtype)
    versions = word_distributions(z, normalisation="sum").chunk(2)
    settings = {"direction": direction, "temperature": temperature, "reduction": "mean"}
    distribution_contrast(*versions, divergence_scale=1.0, **settings).backward()
    y = occurrences().repeat(2, 1)
    own = y.clone()
    own[:, :COMMON] = False
    assert (z.grad[:, :COMMON] > 0).all() and (z.grad[own] < 0).all()
    assert 0.6 < (z.grad[~y] > 0).double().mean() < 1


def test_two_equal_versions_do_not_hold_a_common_word_up():
    """Against the count of 2m - 2 texts to 1: the one positive pair has no gradient at all."""
    z = idealised()
    divergences = jensen_shannon(word_distributions(z, normalisation="sum"))
    positives = divergences.diagonal(TEXTS)
    assert positives.abs().max() < 1e-15
    (gradient,) = torch.autograd.grad(positives.sum(), z)
    assert gradient.abs().max() < 1e-15


def test_the_surer_a_common_word_the_less_it_is_lowered():
    pushes = []
    for high in (0.9, 0.99, 0.999):
        z = idealised(high=high)
        contrast(z).backward()
        pushes.append(z.grad[0, 0].item())
    assert pushes[0] > 5 * pushes[1] > 25 * pushes[2] > 0


def descended(loss, z: torch.Tensor, *, steps: int, rate: float) -> torch.Tensor:
    z = z.detach().clone().requires_grad_()
    for _ in range(steps):
        (gradient,) = torch.autograd.grad(loss(z), z)
        z = (z - rate * gradient).detach().requires_grad_()
    return z.detach()


def test_alone_it_puts_out_common_words_and_keeps_informative_ones():
    z = descended(contrast, idealised(), steps=1500, rate=20.0)
    s, y = z.sigmoid(), occurrences()
    own = y.clone()
    own[:, :COMMON] = False
    assert (s[:, :COMMON] < 0.1).all() and (s[:TEXTS][own] > 0.95).all()
    shared = word_distributions(z, normalisation="sum")[:, :COMMON].sum(dim=1)
    assert (shared < 0.1).all()
    assert math.log(TEXTS) < contrast(z).item() < math.log(TEXTS) + 0.1


def test_the_loss_lies_between_log_m_and_log_of_4m_minus_3():
    m, apart = 5, torch.eye(5, 20, dtype=torch.float64)
    least = distribution_contrast(apart, apart, divergence_scale=1.0, **EQUATION_5)
    close(least, math.log(m))  # all texts disjoint, versions equal
    same = apart[:1].repeat(m, 1)
    worst = distribution_contrast(same, same, divergence_scale=1.0, **EQUATION_5)
    close(worst, math.log(2 * m - 1))
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        z = 6 * torch.randn(2 * m, 20, dtype=torch.float64, generator=generator)
        assert math.log(m) < contrast(z).item() < math.log(4 * m - 3)


def test_what_it_brings_out_need_not_be_in_the_text():
    """A word of no text that one text has a little more of than the others is brought out as well."""
    z = idealised()
    with torch.no_grad():
        for version in (0, TEXTS):
            for text in range(TEXTS):
                z[version + text, -1 - text] = torch.tensor(0.2).logit()
    after = descended(contrast, z, steps=1500, rate=20.0).sigmoid()
    wrong = torch.stack([after[text, -1 - text] for text in range(TEXTS)])
    assert (wrong > 0.9).all() and (after[:, :COMMON] < 0.1).all()


@pytest.mark.parametrize(("reduction", "rises"), [("sum", True), ("mean", False)])
def test_beside_the_reconstruction_it_has_no_say_over_common_words_unless_eq_4_is_a_mean(reduction, rises):
    """lambda = 0.1 and a vocabulary of 5,000: the word's logit goes up under the sum, down under the mean."""
    z = idealised(5000, low=1e-5)
    y = occurrences(5000).repeat(2, 1)
    settings = {"second_term": "binary", "weights": None, "both_terms": False}
    (up,) = torch.autograd.grad(reconstruction(z, y, reduction=reduction, **settings), z)
    (down,) = torch.autograd.grad(0.1 * contrast(z), z)
    assert (up[:, :COMMON] < 0).all() and (down[:, :COMMON] > 0).all()
    assert ((up + down)[:, :COMMON] < 0).all() == rises
    # per text: (1 - s) from Eq. 4, less than lambda 3/2 log 2 s (1 - s) / sum s from Eq. 5
    s = z.detach().sigmoid()
    per_text = (1 - s) * (1 if reduction == "sum" else 1 / 5000)
    close(-up[:, :COMMON] * len(z), per_text[:, :COMMON])
    bound = 0.1 * 1.5 * math.log(2) * s * (1 - s) / s.sum(dim=1, keepdim=True)
    assert (down * len(z) < bound)[:, :COMMON].all()


def test_whatever_the_logits_it_never_lowers_a_word_of_the_text_beside_eq_4_as_a_sum():
    """Not even with lambda 0.4: p (1 - s) ln(m / p) and the like stay below what Eq. 4 has, 1 - s."""
    generator = torch.Generator().manual_seed(0)
    settings = {"second_term": "binary", "reduction": "sum", "weights": None, "both_terms": False}
    for trial in range(500):
        m, size = 2 + trial % 6, 2 + trial % 37
        spread = 2 * (1 + trial % 4)
        first, second = spread * torch.randn(2, m, size, dtype=torch.float64, generator=generator)
        z = torch.cat((first, second if trial % 2 else first + 0.05 * second)) - trial % 7
        z.requires_grad_()
        y = torch.rand(2 * m, size, generator=generator) < 0.5
        (gradient,) = torch.autograd.grad(reconstruction(z, y, **settings) + 0.4 * contrast(z), z)
        assert (gradient[y] < 0).all()


def test_a_softmax_in_place_of_the_sum_does_lower_surer_words_of_the_text():
    """Its push has no factor 1 - s: it goes on where Eq. 4 has long stopped."""
    y, settings = occurrences().repeat(2, 1), {"weights": None, "both_terms": False}
    z = idealised(high=0.999)
    (up,) = torch.autograd.grad(reconstruction(z, y, second_term="binary", reduction="sum", **settings), z)
    pushes = []
    for normalisation in ("sum", "softmax"):
        versions = word_distributions(z, normalisation=normalisation).chunk(2)
        loss = 0.1 * distribution_contrast(*versions, divergence_scale=1.0, **EQUATION_5)
        pushes.append((up + torch.autograd.grad(loss, z)[0])[:, :COMMON])
    assert (pushes[0] < 0).all() and (pushes[1] > 0).all()


def test_trained_together_as_printed_common_words_stay_as_sure_as_without_the_contrast():
    y = occurrences().repeat(2, 1)
    settings = {"second_term": "binary", "reduction": "sum", "weights": None, "both_terms": False}

    def after(weight: float) -> torch.Tensor:
        def loss(z: torch.Tensor) -> torch.Tensor:
            return reconstruction(z, y, **settings) + weight * contrast(z)

        return descended(loss, idealised(), steps=300, rate=5.0).sigmoid()

    assert (after(0.1) - after(0.0))[:, :COMMON].abs().max() < 1e-3 < 1 - after(0.0)[0, 0]
