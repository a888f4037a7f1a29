"""Similarity of two runs over the topics that both answer, as defined by repro_eval.

E.g. Kendall's tau on the union of both rankings (Breuer et al., SIGIR 2020).
"""

import math
from collections.abc import Mapping, Sequence

DEPTH = 1000
PERSISTENCE = 0.95
_NEGLIGIBLE = 1e-18

Run = Mapping[str, Sequence[tuple[str, float]]]


def root_mean_square_error(first: Sequence[float], second: Sequence[float]) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first))


def kendall_union(first: Run, second: Run, *, depth: int = DEPTH) -> float | None:
    """Return the mean Kendall's tau of shared topics, on the union of both rankings, or None without one."""
    taus = [_tau(first[topic], second[topic], depth) for topic in first if topic in second]
    return _mean([tau for tau in taus if tau is not None])


def rank_biased_overlap(
    first: Run, second: Run, *, persistence: float = PERSISTENCE, depth: int = DEPTH
) -> float | None:
    """Return the mean rank-biased overlap of shared topics, or None without one.

    The overlap at depth k has the normalised weight persistence^(k - 1).
    """
    topics = [topic for topic in first if topic in second]
    return _mean([_overlap(first[topic], second[topic], persistence, depth) for topic in topics])


def _tau(first, second, depth: int) -> float | None:
    length = min(depth, len(first), len(second))
    if length < 2:
        return None
    from scipy.stats import kendalltau

    one, other = ([document for document, _ in ranking[:length]] for ranking in (first, second))
    place = {document: i for i, document in enumerate(sorted({*one, *other}))}
    return float(kendalltau([place[d] for d in one], [place[d] for d in other]).statistic)


def _overlap(first, second, persistence: float, depth: int) -> float:
    seen: set[str] = set()
    overlap, score, total, weight = 0, 0.0, 0.0, 1.0
    for i in range(depth):
        for ranking in (first, second):
            if i < len(ranking):
                document = ranking[i][0]
                overlap += document in seen
                seen.add(document)
        score += weight * overlap / (i + 1)
        total += weight
        weight *= persistence
        if weight < _NEGLIGIBLE:
            break
    return score / total


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
