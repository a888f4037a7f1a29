from __future__ import annotations

import math

import pytest
import torch

from repro.nn.four_block import four_block_contrastive


def batch(q=4, p=3, h=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(q, h, dtype=torch.float64, generator=generator)
    passages = torch.randn(q * p, h, dtype=torch.float64, generator=generator)
    return queries, passages


def phi(a, b, temperature):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return math.exp(dot / math.hypot(*a) / math.hypot(*b) / temperature)


def equation(queries, passages, *, temperature):
    """The denominator written out."""
    queries, passages = queries.tolist(), passages.tolist()
    count, each = len(queries), len(passages) // len(queries)
    positives = [passages[i * each] for i in range(count)]
    total = 0.0
    for i, (query, positive) in enumerate(zip(queries, positives, strict=True)):
        denominator = sum(phi(query, passage, temperature) for passage in passages)
        for j in range(count):
            if j != i:
                denominator += phi(positive, queries[j], temperature)
                denominator += phi(query, queries[j], temperature)
                denominator += phi(positive, positives[j], temperature)
        total -= math.log(phi(query, positive, temperature) / denominator)
    return total / count


@pytest.mark.parametrize(("q", "p"), [(4, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_the_loss_is_the_equation_written_as_loops(q, p, temperature):
    queries, passages = batch(q, p)
    loss = four_block_contrastive(queries, passages, temperature=temperature)
    expected = equation(queries, passages, temperature=temperature)
    assert loss.item() == pytest.approx(expected, rel=1e-11)


def test_neither_lengths_of_vectors_nor_the_order_of_queries_and_negatives_matter():
    queries, passages = batch()
    loss = four_block_contrastive(queries, passages, temperature=0.2).item()
    order = [2, 0, 3, 1]
    places = [3 * i + n for i in order for n in (0, 2, 1)]
    scales = torch.linspace(0.1, 9, 12, dtype=torch.float64).unsqueeze(1)
    again = four_block_contrastive(queries[order], (passages * scales)[places], temperature=0.2)
    assert again.item() == pytest.approx(loss, rel=1e-12)


def test_a_positive_pushes_no_hard_negative_away():
    """Dimensions 3 and 4 are the positives' alone: along them only a positive can push."""
    queries, passages = batch(q=4, p=3)
    queries[:, 3:] = 0
    negative = torch.arange(12) % 3 != 0
    passages[negative, 3:] = 0
    passages.requires_grad_()
    four_block_contrastive(queries, passages, temperature=0.5).backward()
    along = passages.grad[negative, 3:]
    assert (along == 0).all()
    assert (passages.grad[negative, :3] != 0).all()


def test_the_pair_of_a_text_with_itself_has_no_gradient():
    queries, passages = batch(q=1, p=1)
    queries.requires_grad_()
    four_block_contrastive(queries, passages, temperature=0.1).backward()
    assert (queries.grad == 0).all()  # one query with one passage has nothing to be told from


def test_a_small_temperature_stays_finite_in_single_precision():
    queries, passages = (tensor.float().mul(100).requires_grad_() for tensor in batch())
    loss = four_block_contrastive(queries, passages, temperature=0.001)
    loss.backward()
    assert loss.isfinite() and queries.grad.isfinite().all() and passages.grad.isfinite().all()
