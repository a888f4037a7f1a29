from __future__ import annotations

import math

import pytest
import torch

from papers.costa.group_contrastive import group_contrastive
from tests.floats import close


def group(n=4, s=3, h=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z_text = torch.randn(n, h, dtype=torch.float64, generator=generator)
    z_span = torch.randn(n, s, h, dtype=torch.float64, generator=generator)
    return z_text, z_span, torch.ones(n, s, dtype=torch.bool)


def equation_8(z_text, z_span, span_mask, *, temperature, similarity, reduction):
    """Eq. 8 over an explicit list of all N(4T+1) representations."""

    def sim(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot if similarity == "dot" else dot / math.hypot(*a) / math.hypot(*b)

    n, s = span_mask.shape
    kept = [i for i in range(n) if any(span_mask[i])]
    everything = {("text", i): z_text[i].tolist() for i in kept}
    everything |= {("span", i, p): z_span[i, p].tolist() for i in kept for p in range(s) if span_mask[i, p]}
    total = 0.0
    for i in kept:
        z_i = everything["text", i]
        denominator = sum(
            math.exp(sim(z_i, z_j) / temperature) for key, z_j in everything.items() if key != ("text", i)
        )
        group = [key for key in everything if key[0] == "span" and key[1] == i]
        total -= sum(
            math.log(math.exp(sim(z_i, everything[p]) / temperature) / denominator) for p in group
        ) / len(group)
    return total / len(kept) if reduction == "mean" else total


SETTINGS = {"temperature": 0.7, "similarity": "dot", "reduction": "sum"}


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("absent", [[], [(0, 1), (2, 0)], [(1, 0), (1, 1), (1, 2)]])
def test_the_loss_is_equation_8_written_as_loops(similarity, reduction, absent):
    z_text, z_span, mask = group()
    for place in absent:
        mask[place] = False
    settings = {"temperature": 0.7, "similarity": similarity, "reduction": reduction}
    loss = group_contrastive(z_text, z_span, mask, **settings)
    close(loss, equation_8(z_text, z_span, mask, **settings))


def test_large_products_over_a_small_temperature_stay_finite():
    z_text, z_span, mask = group()
    z_text, z_span = (z.float().mul(100).requires_grad_() for z in (z_text, z_span))
    loss = group_contrastive(z_text, z_span, mask, temperature=0.01, similarity="dot", reduction="mean")
    loss.backward()
    assert loss.isfinite() and z_text.grad.isfinite().all()
