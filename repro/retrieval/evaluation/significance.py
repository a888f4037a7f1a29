"""Paired tests between systems, on scores of queries: Student's t, and ``pairwise_tests``."""

import functools
import hashlib
import math
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distribution

import numpy as np

from repro.errors import DataError
from repro.retrieval.evaluation.measures import parse_measure, score
from repro.retrieval.evaluation.p_values import holm
from repro.retrieval.evaluation.text_lines import Judged

CONFIDENCE = 0.95
FEW_QUERIES = 100
RESAMPLES_OF_FEW, RESAMPLES = 100_000, 10_000
TOO_FEW_QUERIES = 6  # below it no permutation p is under 0.05
_BATCH = 256
_ROUNDING = 1e-12  # relative to the largest possible sum


def pairwise_tests(scores: np.ndarray, queries: Sequence[str], measure: str) -> dict:
    """Test every system against every other: permutation p, effect size, bootstrap interval, Holm.

    ``scores`` are (S, Q), a row per system. ``queries`` and the measure seed the random draws.

    Returns matrices (S lists of S values, None on the diagonal), [i][j] being i minus j: ``difference`` of
    the means, ``effect_size``, the difference over the differences' standard deviation, ``interval``, the 95
    % percentile bootstrap, ``permutation_p``, two-sided, from ``resamples`` draws as (b + 1) / (B + 1) or
    ``exact`` from all sign flips, and ``holm_p``, corrected among all systems compared with i. Undefined
    values are None. Raises DataError for a score that is not finite.
    """
    scores = np.asarray(scores, np.float64)
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        place = f"system {row + 1} on query {queries[column]!r}"
        raise DataError(f"{measure} of {place} is {scores[row, column]}, not a finite number. Score again.")
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


def smallest_p(queries: int) -> float:
    """Return the smallest two-sided p of the permutation test, e.g. 0.25 for 3 queries."""
    return min(1.0, 2 / 2**queries)


def matrix(size: int, value) -> list[list]:
    """Return ``value(i, j)`` for all pairs of systems, with None on the diagonal."""
    return [[None if i == j else value(i, j) for j in range(size)] for i in range(size)]


def seed_of(measure: str, queries: Sequence[str]) -> int:
    return int.from_bytes(hashlib.sha256("\n".join([measure, *queries]).encode()).digest()[:8], "big")


def permutation_p(scores: np.ndarray, *, resamples: int, seed: int) -> np.ndarray:
    """Return two-sided p-values, (S, S), of scores (S, Q) from all or ``resamples`` random sign flips."""
    count, size = scores.shape
    observed_differences = np.abs(_differences(scores.sum(axis=1)))
    allowance = _ROUNDING * max(1.0, size * np.abs(scores).max(initial=0.0))
    extreme_counts = np.zeros((count, count), np.int64)
    for signs in sign_flips(size, resamples=resamples, seed=seed):
        extreme_counts += (np.abs(_differences(signs @ scores.T)) >= observed_differences - allowance).sum(
            axis=0
        )
    if 2**size <= resamples:
        return extreme_counts / 2**size
    return (extreme_counts + 1) / (resamples + 1)


def sign_flips(size: int, *, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield batches (B, size) of 1 and -1: all 2**size rows, or ``resamples`` random ones if fewer."""
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
    """Return lower and upper ends, (S, S) each, of 95 % intervals of mean differences of scores (S, Q)."""
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
    return values[..., :, None] - values[..., None, :]


def _spread(scores: np.ndarray) -> np.ndarray:
    count, size = scores.shape
    spread = np.zeros((count, count))
    for i in range(count if size > 1 else 0):
        difference = scores[i] - scores
        varies = np.ptp(difference, axis=1) > _ROUNDING
        spread[i] = np.where(varies, difference.std(axis=1, ddof=1), 0.0)
    return spread


Ranking = Sequence[tuple[str, float]]


def compare(
    runs: Iterable[Mapping[str, Ranking]],
    names: Sequence[str],
    qrels: Judged,
    measures: Sequence[str],
    *,
    max_p: float = 0.05,
    ignore_identical_ids: bool = False,
) -> dict:
    """Compare every pair of runs on every measure by a two-sided paired t-test over the judged queries.

    Returns ``{"test": "student", "max_p": …, "measures": {measure: {"names", "means", "p", …}}}``, with the
    values of ``pairwise_tests``. ``holm_student_p`` is corrected among all systems compared with i. ``wins``,
    ``ties`` and ``losses`` count the queries of i. Runs with equal scores have p 1.0 and are listed under
    ``identical``. Any other undefined p is None. Raises UsageError for an unknown measure.
    """
    for text in measures:
        parse_measure(text)
    options = {"ignore_identical_ids": ignore_identical_ids}
    scores = [score(run, qrels, list(measures), **options).measures for run in runs]
    return compare_scores(scores, names, sorted(qrels), measures, max_p=max_p)


def compare_scores(
    scores: Sequence[Mapping[str, Sequence[float]]],
    names: Sequence[str],
    queries: Sequence[str],
    measures: Sequence[str],
    *,
    max_p: float = 0.05,
) -> dict:
    """Compare systems by their scores, as ``compare`` does. Raises DataError for nan."""
    tables_by_measure = {}
    for text in measures:
        values = np.array([system[text] for system in scores], np.float64)
        tests = pairwise_tests(values, queries, text)
        tables = _means_and_t_tests(values, names)
        tables_by_measure[text] = {**tables, **tests, "holm_student_p": [holm(row) for row in tables["p"]]}
    return {"test": "student", "max_p": max_p, "measures": tables_by_measure}


@functools.cache
def _ranx_t_test() -> Callable[[np.ndarray, np.ndarray], tuple[float, bool]]:
    # importing the whole package takes four seconds
    path = distribution("ranx").locate_file("ranx/statistical_tests/paired_student_t_test.py")
    return runpy.run_path(str(path))["paired_student_t_test"]


def _means_and_t_tests(scores: np.ndarray, names: Sequence[str]) -> dict:
    paired_student_t_test = _ranx_t_test()
    count, spread = len(scores), _spread(scores)
    are_equal = [[bool((scores[i] == scores[j]).all()) for j in range(count)] for i in range(count)]

    def p_value(i: int, j: int) -> float | None:
        if are_equal[i][j]:
            return 1.0
        if spread[i, j] == 0:  # t would be infinite
            return None
        return float(paired_student_t_test(scores[i], scores[j])[0])

    return {
        "names": list(names),
        "means": scores.mean(axis=1).tolist(),
        "p": matrix(count, p_value),
        "wins": matrix(count, lambda i, j: int((scores[i] > scores[j]).sum())),
        "ties": matrix(count, lambda i, j: int((scores[i] == scores[j]).sum())),
        "losses": matrix(count, lambda i, j: int((scores[i] < scores[j]).sum())),
        "identical": [[i, j] for i in range(count) for j in range(i + 1, count) if are_equal[i][j]],
    }
