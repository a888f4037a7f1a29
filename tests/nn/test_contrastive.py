from __future__ import annotations

import math

import pytest
import torch

from repro.errors import UsageError
from repro.nn.contrastive import in_batch_contrastive


def loops(queries, passages, temperature, similarity):
    """Cross-entropy of passage i*P for query i, one exponential at a time."""

    def sim(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        if similarity == "dot":
            return dot
        return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))

    each, total = len(passages) // len(queries), 0.0
    for i, query in enumerate(queries):
        scores = [sim(query, passage) / temperature for passage in passages]
        total -= scores[i * each] - math.log(sum(math.exp(score) for score in scores))
    return total / len(queries)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(3)
    return (
        torch.randn(3, 5, dtype=torch.float64, generator=generator),
        torch.randn(12, 5, dtype=torch.float64, generator=generator),
    )


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_the_loss_is_the_equation_written_as_loops(batch, temperature, similarity):
    queries, passages = batch
    loss = in_batch_contrastive(queries, passages, temperature=temperature, similarity=similarity)
    assert loss.item() == pytest.approx(
        loops(*(t.tolist() for t in batch), temperature, similarity), rel=1e-12
    )


def test_the_order_of_negatives_and_the_length_of_vectors_under_cosine_do_not_matter(batch):
    queries, passages = batch
    loss = in_batch_contrastive(queries, passages, temperature=0.5, similarity="cosine")
    shuffled = passages[[0, 3, 2, 1, 4, 5, 7, 6, 8, 11, 10, 9]]
    again = in_batch_contrastive(queries * 7, shuffled * 0.1, temperature=0.5, similarity="cosine")
    assert again.item() == pytest.approx(loss.item(), rel=1e-12)


def test_a_negative_infinitely_far_away_gets_no_gradient(batch):
    queries, passages = batch[0].abs(), batch[1].clone()
    passages[5] = -1e4
    passages.requires_grad_()
    in_batch_contrastive(queries, passages, temperature=1.0, similarity="dot").backward()
    assert passages.grad[5].abs().max() == 0
    assert passages.grad[4].abs().max() > 0


def test_one_query_with_one_passage_has_nothing_to_learn(batch):
    queries, passages = batch
    assert in_batch_contrastive(queries[:1], passages[:1], temperature=1.0, similarity="dot") == 0


def test_an_unknown_similarity_is_a_usage_error(batch):
    with pytest.raises(UsageError, match="no similarity 'euclid'"):
        in_batch_contrastive(*batch, temperature=1.0, similarity="euclid")


def test_half_precision_vectors_are_compared_in_float32():
    from repro.nn.similarity import similarities

    left = torch.full((1, 64), 6.0, dtype=torch.float16)
    right = left.clone()
    right[0, 0] = 6.0078125  # 2304.05 lies between the float16 numbers 2304 and 2306
    scores = similarities(left, right, similarity="dot")
    assert scores.dtype == torch.float32 and scores.item() == pytest.approx(2304.046875)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert similarities(left, right, similarity="dot").item() == scores.item()
