"""Tests between systems from their scores alone: effect sizes, intervals, permutation and Holm's p.

Differences are taken between every two systems on the same queries. The reference distribution of the
permutation test flips the sign of every query's difference; the bootstrap draws queries with replacement.
Both are linear in the scores, so one matrix product per batch serves every pair.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence

import numpy as np

from repro.errors import DataError
from repro.retrieval.evaluation.holm import holm

CONFIDENCE = 0.95
FEW_QUERIES = 100
RESAMPLES_OF_FEW, RESAMPLES = 100_000, 10_000
_BATCH = 256
_ROUNDING = 1e-12  # of the largest sum there can be: sums that are equal in exact arithmetic count as equal


def pairwise_tests(scores: np.ndarray, queries: Sequence[str], measure: str) -> dict:
    """Test every system against every other: permutation p, effect size, bootstrap interval, Holm.

    Args:
        scores: (S, Q), a row a system, a column a query.
        queries: the Q ids; with the measure they seed what is random, so that equal inputs give equal values
            in every process, whatever the systems are called; others beside them change only rounding.

    Returns matrices (S lists of S values, None on the diagonal), [i][j] being i minus j: ``difference`` of
    the means; ``effect_size``, that over the differences' standard deviation, None where they do not vary;
    ``interval``, the 95 % percentile bootstrap of the difference; ``permutation_p``, two-sided, from
    ``resamples`` draws as (b + 1) / (B + 1), or from all sign flips where these are no more (``exact``);
    ``holm_p``, its correction among all systems compared with i. Fewer than two queries leave p, effect size
    and interval None. Raises DataError for a score that is no finite number.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        place = f"system {row + 1} on query {queries[column]!r}"
        raise DataError(f"{measure} of {place} is {scores[row, column]}, no finite number; score it again")
    count, size = scores.shape
    resamples = RESAMPLES_OF_FEW if size <= FEW_QUERIES else RESAMPLES
    seed = seed_of(measure, queries)
    p = permutation_p(scores, resamples=resamples, seed=seed)
    low, high = bootstrap_interval(scores, resamples=RESAMPLES, seed=seed)
    means = scores.mean(axis=1)
    spread = _spread(scores)
    is_testable = size > 1

    def effect(i: int, j: int) -> float | None:
        return float((means[i] - means[j]) / spread[i, j]) if is_testable and spread[i, j] > 0 else None

    p_values = matrix(count, lambda i, j: float(p[i, j]) if is_testable else None)
    return {
        "difference": matrix(count, lambda i, j: float(means[i] - means[j])),
        "effect_size": matrix(count, effect),
        "interval": matrix(
            count, lambda i, j: [float(low[i, j]), float(high[i, j])] if is_testable else None
        ),
        "permutation_p": p_values,
        "holm_p": [holm(row) for row in p_values],
        "resamples": resamples,
        "exact": 2**size <= resamples,
    }


def matrix(size: int, value) -> list[list]:
    """``value(i, j)`` for every two systems, None on the diagonal."""
    return [[None if i == j else value(i, j) for j in range(size)] for i in range(size)]


def seed_of(measure: str, queries: Sequence[str]) -> int:
    """A seed that only the measure and the queries decide; the same in every process."""
    return int.from_bytes(hashlib.sha256("\n".join([measure, *queries]).encode()).digest()[:8], "big")


def permutation_p(scores: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Two-sided p (S, S) of the mean differences of scores (S, Q) when every query's sign is free.

    Every sign flip is counted where there are no more than ``resamples``; that many are drawn elsewhere.
    """
    count, size = scores.shape
    observed_differences = np.abs(_differences(scores.sum(axis=1)))
    allowance = _ROUNDING * max(1.0, size * np.abs(scores).max(initial=0.0))
    extreme_counts = np.zeros((count, count), dtype=np.int64)
    for signs in sign_flips(size, resamples=resamples, seed=seed):
        extreme_counts += (np.abs(_differences(signs @ scores.T)) >= observed_differences - allowance).sum(
            axis=0
        )
    if 2**size <= resamples:
        return extreme_counts / 2**size
    return (extreme_counts + 1) / (resamples + 1)


def sign_flips(size: int, *, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Batches (B, size) of 1 and -1: all 2**size, or ``resamples`` drawn ones where these are fewer."""
    if 2**size <= resamples:
        for start in range(0, 2**size, _BATCH):
            numbers = np.arange(start, min(start + _BATCH, 2**size))
            yield 1.0 - 2.0 * ((numbers[:, None] >> np.arange(size)) & 1)
        return
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, _BATCH):
        rows = min(_BATCH, resamples - start)
        bits = np.frombuffer(generator.bytes(rows * math.ceil(size / 8)), np.uint8).reshape(rows, -1)
        yield 1.0 - 2.0 * np.unpackbits(bits, axis=1, count=size)


def bootstrap_interval(scores: np.ndarray, *, resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends (S, S) of the 95 % percentile interval of the mean differences of scores (S, Q)."""
    count, size = scores.shape
    generator = np.random.default_rng(seed)
    means = np.empty((resamples, count))
    for start in range(0, resamples, _BATCH):
        draws = generator.integers(0, size, (min(_BATCH, resamples - start), size))
        draws += size * np.arange(len(draws))[:, None]
        draw_counts = np.bincount(draws.ravel(), minlength=draws.size).reshape(draws.shape)
        means[start : start + len(draws)] = draw_counts @ scores.T / size
    tail = 50 * (1 - CONFIDENCE)
    ends = np.zeros((2, count, count))
    for i in range(count):
        ends[:, i, :] = np.percentile(means[:, i, None] - means, [tail, 100 - tail], axis=0)
    return ends[0], ends[1]


def _differences(values: np.ndarray) -> np.ndarray:
    """All differences of two values, (…, S) to (…, S, S)."""
    return values[..., :, None] - values[..., None, :]


def _spread(scores: np.ndarray) -> np.ndarray:
    """Standard deviation (S, S), with Q - 1, of the differences of scores (S, Q); 0 where none differs."""
    count, size = scores.shape
    spread = np.zeros((count, count))
    for i in range(count if size > 1 else 0):
        difference = scores[i] - scores
        varies = np.ptp(difference, axis=1) > _ROUNDING
        spread[i] = np.where(varies, difference.std(axis=1, ddof=1), 0.0)
    return spread
