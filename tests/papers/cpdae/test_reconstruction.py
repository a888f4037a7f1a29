from __future__ import annotations

import math

import pytest
import torch

from papers.cpdae.reconstruction import word_labels
from repro.errors import UsageError
from tests.floats import close
from tests.papers.cpdae.equation_4 import reconstruction


def texts(count=4, size=9, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = 3 * torch.randn(count, size, dtype=torch.float64, generator=generator)
    y = torch.rand(count, size, generator=generator) < 0.4
    return z, y, 0.5 + torch.rand(size, dtype=torch.float64, generator=generator)


def equation_4(z, y, *, second_term, reduction, weights, both_terms):
    """Eq. 4, one word of one text after the other."""
    total = 0.0
    for text in range(len(z)):
        for j in range(z.shape[1]):
            s = 1 / (1 + math.exp(-z[text, j].item()))
            weight = weights[j].item() if weights is not None and (both_terms or y[text, j]) else 1.0
            second = math.log(1 - s) if second_term == "binary" else math.log(s)
            label = int(y[text, j])
            total -= weight * (label * math.log(s) + (1 - label) * second)
    return total / len(z) / (z.shape[1] if reduction == "mean" else 1)


@pytest.mark.parametrize("second_term", ["binary", "printed"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize(("weighted", "both_terms"), [(False, False), (True, False), (True, True)])
def test_the_loss_is_equation_4_written_as_loops(second_term, reduction, weighted, both_terms):
    z, y, weights = texts()
    settings = {
        "second_term": second_term,
        "reduction": reduction,
        "weights": weights if weighted else None,
        "both_terms": both_terms,
    }
    loss = reconstruction(z, y, **settings)
    close(loss, equation_4(z, y, **settings))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_logarithms_of_half_precision_scores_are_taken_and_summed_in_float32(dtype):
    loss = reconstruction(torch.zeros(2, 3000, dtype=dtype), torch.zeros(2, 3000), **PLAIN)
    assert loss.dtype == torch.float32
    close(loss, 3000 * math.log(2))


PLAIN = {"second_term": "binary", "reduction": "sum", "weights": None, "both_terms": False}


def test_the_order_of_words_does_not_matter_and_sure_scores_stay_finite():
    z, y, _ = texts()
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    loss = reconstruction(z, y, **PLAIN)
    close(reconstruction(z[:, order], y[:, order], **PLAIN), loss)
    sure = torch.tensor([[60000.0, -60000]]).half()
    loss = reconstruction(sure, torch.tensor([[False, True]]), **PLAIN)
    assert loss.dtype == torch.float32 and loss.isfinite()


def test_labels_are_the_distinct_words_without_padding_and_what_is_left_out():
    input_ids = torch.tensor([[2, 5, 7, 5, 3, 0], [2, 4, 3, 0, 0, 0]])
    attention_mask = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
    y = word_labels(input_ids, attention_mask, vocabulary_size=8, left_out=[0, 2, 3, 4])
    assert [row.nonzero().flatten().tolist() for row in y] == [[5, 7], []]
    y = word_labels(input_ids, attention_mask, vocabulary_size=8, left_out=[])
    assert [row.nonzero().flatten().tolist() for row in y] == [[2, 3, 5, 7], [2, 3, 4]]
    assert y.shape == (2, 8)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"second_term": "third"}, "known second term"), ({"reduction": "max"}, "known reduction")],
)
def test_a_wrong_setting_is_a_usage_error(changes, said):
    z, y, _ = texts()
    with pytest.raises(UsageError, match=said):
        reconstruction(z, y, **PLAIN | changes)
