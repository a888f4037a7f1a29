import math

import pytest
import torch

from repro.errors import UsageError
from repro.retrieval.nn.contrastive import (
    contrastive,
    divergence,
    four_block_contrastive,
    in_batch_contrastive,
    own_scores,
)
from tests.floats import close


def loops(queries, passages, temperature, similarity):
    def sim(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        if similarity == "dot":
            return dot
        return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))

    each, total = len(passages) // len(queries), 0.0
    for i, query in enumerate(queries):
        scores = [sim(query, p) / temperature for p in passages]
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
    close(loss, loops(*(t.tolist() for t in batch), temperature, similarity))


def test_an_unknown_similarity_is_a_usage_error(batch):
    with pytest.raises(UsageError, match="'euclid' is not a known similarity"):
        in_batch_contrastive(*batch, temperature=1.0, similarity="euclid")


def test_half_precision_vectors_are_compared_in_float32():
    from repro.retrieval.nn.contrastive import similarities

    left = torch.full((1, 64), 6.0, dtype=torch.float16)
    right = left.clone()
    right[0, 0] = 6.0078125  # 2304.05 lies between the float16 numbers 2304 and 2306
    scores = similarities(left, right, similarity="dot")
    assert scores.dtype == torch.float32 and scores.item() == 2304.046875
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert similarities(left, right, similarity="dot").item() == scores.item()


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_own_negatives_alone_and_pairs_are_their_equations_written_as_loops(batch, similarity):
    queries, passages = batch
    scores = own_scores(queries, passages, similarity=similarity)
    own = pairs = 0.0
    for i, row in enumerate(scores.tolist()):
        for j, value in enumerate(row):
            a, b = queries[i], passages[i * 4 + j]
            dot = sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))
            norms = float(a.norm() * b.norm()) if similarity == "cosine" else 1.0
            close(value, dot / norms)
        row = [value / 0.5 for value in row]
        own += math.log(sum(math.exp(v) for v in row)) - row[0]
        pairs += sum(math.log(1 + math.exp(v - row[0])) for v in row[1:]) / 3
    for negatives, expected in (("own", own / 3), ("pairwise", pairs / 3)):
        loss = contrastive(queries, passages, negatives=negatives, temperature=0.5, similarity=similarity)
        close(loss, expected)


@pytest.mark.parametrize("similarity, scale", [("dot", 1.0), ("cosine", 20.0)])
def test_the_loss_is_sentence_transformers_multiple_negatives_ranking_loss(batch, similarity, scale):
    from sentence_transformers import util
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    class Given(torch.nn.Module):
        def forward(self, features):
            return {"sentence_embedding": features["embedding"]}

    queries, passages = (tensor.clone().requires_grad_() for tensor in batch)
    function = util.cos_sim if similarity == "cosine" else util.dot_score
    theirs = MultipleNegativesRankingLoss(Given(), scale=scale, similarity_fct=function)
    columns = [queries, *(passages[place::4] for place in range(4))]
    expected = theirs([{"embedding": c} for c in columns], None)
    loss = contrastive(queries, passages, negatives="in-batch", temperature=1 / scale, similarity=similarity)
    close(loss, expected)
    wanted = torch.autograd.grad(expected, [queries, passages])
    found = torch.autograd.grad(loss, [queries, passages])
    for ours, their in zip(found, wanted, strict=True):
        close(ours, their)


def drawn(q=4, p=3, h=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(q, h, dtype=torch.float64, generator=generator)
    passages = torch.randn(q * p, h, dtype=torch.float64, generator=generator)
    return queries, passages


def phi(a, b, temperature):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return math.exp(dot / math.hypot(*a) / math.hypot(*b) / temperature)


def equation(queries, passages, *, temperature):
    queries, passages = queries.tolist(), passages.tolist()
    count, each = len(queries), len(passages) // len(queries)
    positives = [passages[i * each] for i in range(count)]
    total = 0.0
    for i, (query, positive) in enumerate(zip(queries, positives, strict=True)):
        denominator = sum(phi(query, p, temperature) for p in passages)
        for j in range(count):
            if j != i:
                denominator += phi(positive, queries[j], temperature)
                denominator += phi(query, queries[j], temperature)
                denominator += phi(positive, positives[j], temperature)
        total -= math.log(phi(query, positive, temperature) / denominator)
    return total / count


@pytest.mark.parametrize(("q", "p"), [(4, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_the_four_blocks_are_the_equation_written_as_loops(q, p, temperature):
    queries, passages = drawn(q, p)
    loss = four_block_contrastive(queries, passages, temperature=temperature)
    expected = equation(queries, passages, temperature=temperature)
    close(loss, expected)


def test_a_small_temperature_stays_finite_in_single_precision():
    queries, passages = (tensor.float().mul(100).requires_grad_() for tensor in drawn())
    loss = four_block_contrastive(queries, passages, temperature=0.001)
    loss.backward()
    assert loss.isfinite() and queries.grad.isfinite().all() and passages.grad.isfinite().all()


def logits(seed, n=5, k=4):
    return torch.randn(n, k, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 3


def as_loops(target, scores):
    total = 0.0
    for t, s in zip(target.tolist(), scores.tolist(), strict=True):
        p, q = ([math.exp(x) / sum(map(math.exp, row)) for x in row] for row in (t, s))
        total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    return total / len(target)


def test_divergence_is_equation_5_written_as_loops_and_the_mean_over_queries():
    target, scores = logits(0), logits(1)
    close(divergence(target, scores), as_loops(target, scores))


def test_large_half_precision_scores_stay_finite():
    target, scores = (logits(seed).half() * 100 for seed in (0, 1))
    assert divergence(target, scores).isfinite() and divergence(target, scores).dtype == torch.float32
