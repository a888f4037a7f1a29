from __future__ import annotations

import math

import pytest
import torch

from papers.cotmae_v2.printed_denominator import PrintedDenominator, printed_denominator
from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder
from tests.floats import close
from tests.retrieval.nn.test_multi_view_bi_encoder import EXAMPLES, P, objective, start

__all__ = ["start"]


@pytest.mark.parametrize("columns", [2, 12])
def test_the_loss_is_equation_15_as_printed_written_as_loops(columns):
    scores = torch.randn(4, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    positives = torch.tensor([0, 1, 1, 0])
    expected = 0.0
    for row, positive in zip(scores.tolist(), positives.tolist(), strict=True):
        below = sum(math.exp(row[positive] + d) for n, d in enumerate(row) if n != positive)
        expected -= math.log(math.exp(row[positive]) / below) / len(scores)
    close(printed_denominator(scores, positives), expected)
    assert torch.autograd.gradcheck(lambda s: printed_denominator(s, positives), scores.requires_grad_())


@pytest.mark.parametrize("negatives", ["batch", "own"])
def test_the_retriever_takes_the_printed_loss_of_its_similarities(start, negatives):
    how = {"in_batch_negatives": negatives, "temperature": 7.0}
    made = objective(start, PrintedDenominator, contrastive_denominator="printed", **how)
    usual = objective(start, **how)
    scores = {}
    for one in (made, usual):
        contrast = one.contrast
        one.contrast = lambda pool, places, of=one, by=contrast: by(scores.setdefault(of, pool), places)
    batch = made.collate(EXAMPLES)
    loss = made(batch)["contrastive"]
    usual(batch)
    close(scores[made], scores[usual])
    places = torch.arange(len(EXAMPLES)) * (P if negatives == "batch" else 0)
    close(loss, printed_denominator(scores[made], places))


def test_it_is_the_same_objective_to_a_fingerprint_and_knows_the_usual_denominator_too(start):
    assert (PrintedDenominator.name, PrintedDenominator.version) == ("multi-view-contrastive", 1)
    assert MultiViewBiEncoder.contrasts.keys() == {"softmax"}
    batch = objective(start).collate(EXAMPLES)
    assert objective(start, PrintedDenominator)(batch) == objective(start)(batch)
