"""The losses of Eq. 6 beside each other at the real size of the vocabulary."""

from __future__ import annotations

import pytest
import torch

from papers.cpdae.distribution_contrast import distribution_contrast, word_distributions
from repro.manifest.papers import paper
from tests.papers.cpdae.equation_4 import reconstruction

VOCABULARY, TEXTS, WORDS = 30_522, 4, 180
READ = {"second_term": "binary", "weights": None, "both_terms": False}
CONTRAST = {"divergence_scale": 1.0, "temperature": 1.0, "direction": "both"}


def contrast_over_reconstruction(*, of_sum: str, of_contrast: str) -> float:
    """|∂ 0.1 L_CL / ∂z| / |∂ L_REC / ∂z| for logits on the way to the words of their texts."""
    generator = torch.Generator().manual_seed(0)
    y = torch.zeros(TEXTS, VOCABULARY)
    for row in y:
        row[torch.randperm(VOCABULARY, generator=generator)[:WORDS]] = 1
    noise = 0.1 * torch.randn(2 * TEXTS, VOCABULARY, generator=generator)
    z = (6.0 * y.repeat(2, 1) - 5.0 + noise).requires_grad_()
    rebuilt = reconstruction(z, y.repeat(2, 1), **READ, reduction=of_sum)
    versions = word_distributions(z, normalisation="sum").chunk(2)
    contrast = 0.1 * distribution_contrast(*versions, **CONTRAST, reduction=of_contrast)
    rec, cl = (torch.autograd.grad(loss, z, retain_graph=True)[0].norm() for loss in (rebuilt, contrast))
    return (cl / rec).item()


def test_by_the_default_reductions_the_contrast_can_change_a_training():
    readings = paper("cpdae").readings
    of_sum, of_contrast = (
        readings[name].choices[readings[name].default]
        for name in ("reconstruction-reduction", "contrastive-reduction")
    )
    assert contrast_over_reconstruction(of_sum=of_sum, of_contrast=of_contrast) > 0.1


@pytest.mark.parametrize("of_contrast", ["mean", "sum"])
def test_beside_a_reconstruction_that_is_a_sum_the_contrast_is_next_to_nothing(of_contrast):
    assert contrast_over_reconstruction(of_sum="sum", of_contrast=of_contrast) < 1e-3
