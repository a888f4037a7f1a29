"""The equations of CoT-MAE v2's fine-tuning written a second time, from the text and its readings alone.

A text is a pair of vectors, dense and sparse, each a list of numbers (`tests.papers.scalars` or floats).
"""

from tests.papers.cotmae_v2.written_again import dot
from tests.papers.scalars import exp, log, sqrt, value


def highest(sparse, k):
    """The top k of §3.1: all but the k highest frequencies become 0; of equal ones the first words' stay."""
    order = sorted(range(len(sparse)), key=lambda j: (-value(sparse[j]), j))
    kept = order[:k]
    return [sparse[j] if j in kept else 0.0 for j in range(len(sparse))]


def alike(one, other, kind="dot"):
    """The dot product or the cosine of §3.1 (`similarity`)."""
    product = dot(one, other)
    return product if kind == "dot" else product / (sqrt(dot(one, one)) * sqrt(dot(other, other)))


def similarity(query, passage, *, views=("dense", "sparse"), kind="dot"):
    """Eq. 7, mended: one dense and one sparse similarity, added; printed is the sparse one twice."""
    total = 0.0
    for view in views:
        at = 0 if view == "dense" else 1
        total = total + alike(query[at], passage[at], kind)
    return total


def contrast(positive, negatives, *, temperature=1.0, form="softmax"):
    """Eq. 15 for one query: d of its positive, and d of its negatives.

    As printed the denominator has only the sums d(q, p+) + d(q, p-), one for each negative.
    """
    denominator = exp(positive / temperature) if form == "softmax" else 0.0
    for negative in negatives:
        if form == "softmax":
            denominator = denominator + exp(negative / temperature)
        else:
            denominator = denominator + exp((positive + negative) / temperature)
    return -log(exp(positive / temperature) / denominator)


def contrast_of_batch(queries, passages, *, views=("dense", "sparse"), kind="dot", own=False, **how):
    """The mean of Eq. 15 over queries; the group of passages of query i is `passages[i]`, its positive first.

    The passages of other queries are negatives too, unless `own` (`in-batch-negatives`).
    """
    loss = 0.0
    for i, query in enumerate(queries):
        positive, negatives = None, []
        for g, group in enumerate(passages):
            for p, passage in enumerate(group):
                if own and g != i:
                    continue
                score = similarity(query, passage, views=views, kind=kind)
                if g == i and p == 0:
                    positive = score
                else:
                    negatives.append(score)
        loss = loss + contrast(positive, negatives, **how) / len(queries)
    return loss


def contrast_of_views(queries, passages, *, objective="sum", terms=("dense", "sparse"), **options):
    """Eq. 15 on the sum of the terms, once for each view, or all three (`view-objective`)."""
    loss = 0.0
    if objective in ("sum", "both"):
        loss = loss + contrast_of_batch(queries, passages, views=terms, **options)
    if objective in ("separate", "both"):
        for view in ("dense", "sparse"):
            loss = loss + contrast_of_batch(queries, passages, views=(view,), **options)
    return loss


def flops(vectors):
    """SPLADE's penalty, to which §3.3 refers: each word's mean frequency over the batch, squared, summed."""
    total = 0.0
    for j in range(len(vectors[0])):
        mean = 0.0
        for vector in vectors:
            mean = mean + vector[j] / len(vectors)
        total = total + mean * mean
    return total


def probabilities(scores):
    """The softmax of the scores of one query's passages."""
    denominator = 0.0
    for score in scores:
        denominator = denominator + exp(score)
    return [exp(score) / denominator for score in scores]


def distillation(retriever, reranker, *, direction="teacher-student"):
    """Eq. 16, the mean over queries of the divergence; as printed the retriever stands first."""
    loss = 0.0
    for student, teacher in zip(retriever, reranker, strict=True):
        p, q = probabilities(teacher), probabilities(student)
        if direction == "student-teacher":
            p, q = q, p
        for x, y in zip(p, q, strict=True):
            loss = loss + x * log(x / y) / len(retriever)
    return loss
