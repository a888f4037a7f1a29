from __future__ import annotations

import math

import pytest
import torch

from papers.baselines.contrastive_term_distribution import contrastive_term_scores, word_attention
from tests.floats import close


def numbers(n=4, w=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    attention = torch.rand(n, w, dtype=torch.float64, generator=generator)
    collection = torch.rand(n, w, dtype=torch.float64, generator=generator).clamp(min=1e-3) / 3
    return attention, collection, torch.ones(n, w, dtype=torch.bool)


def loops(attention, collection, mask, saturation, contrast):
    scores = []
    for row, shares, there in zip(attention.tolist(), collection.tolist(), mask.tolist(), strict=True):
        raised = [a if saturation is None else a / (a + saturation) for a in row]
        total = sum(g for g, one in zip(raised, there, strict=True) if one)
        scores.append([])
        for g, r, one in zip(raised, shares, there, strict=True):
            c = -g / total * math.log2(r) if contrast == "cross-entropy" else max(0.0, g / total - r)
            scores[-1].append(c if one else 0.0)
    return scores


@pytest.mark.parametrize("contrast", ["cross-entropy", "difference"])
@pytest.mark.parametrize("saturation", [None, 0.01, 2.0])
def test_scores_are_the_equations_written_as_loops(contrast, saturation):
    attention, collection, mask = numbers()
    mask[1, 2:] = False
    found = contrastive_term_scores(attention, collection, mask, saturation=saturation, contrast=contrast)
    expected = loops(attention, collection, mask, saturation, contrast)
    close(found.flatten().tolist(), [c for row in expected for c in row])


def test_a_row_without_words_has_zeros_and_nothing_masked_counts():
    attention, collection, mask = numbers()
    mask[0], mask[1, 0] = False, False
    how = {"saturation": 0.01, "contrast": "cross-entropy"}
    found = contrastive_term_scores(attention, collection, mask, **how)
    assert (found[0] == 0).all() and found.isfinite().all()
    attention[1, 0], collection[1, 0] = 77.0, 0.0
    close(contrastive_term_scores(attention, collection, mask, **how), found)


def test_what_cannot_be_drawn_can_take_its_share_all_the_same():
    attention, collection, mask = numbers()
    mask[:, 3:] = False
    attention[:, 3:] = attention[:, :3]
    how = {"saturation": 0.01, "contrast": "cross-entropy"}
    alone = contrastive_term_scores(attention, collection, mask, **how)
    shared = contrastive_term_scores(attention, collection, mask, counted=torch.ones_like(mask), **how)
    close(shared * 2, alone)
    assert (shared[:, 3:] == 0).all()


def test_attention_of_a_word_is_the_sum_over_its_tokens():
    attention = torch.tensor([[0.5, 0.1, 0.2, 0.15, 0.05], [0.4, 0.3, 0.2, 0.1, 0.0]], dtype=torch.float64)
    words = torch.tensor([[-1, 0, 1, 0, -1], [-1, 1, 1, -1, -1]])
    found = word_attention(attention, words, words=2)
    close(found, torch.tensor([[0.25, 0.2], [0.0, 0.5]], dtype=torch.float64))
    assert word_attention(attention, torch.full_like(words, -1), words=0).shape == (2, 0)
