"""Paired tests between systems: ranx's Student's t, with the tests of ``pairwise_tests`` beside it.

The test is given scores of queries. ranx's own ``compare`` starts from runs, to the same end (a test holds
both together), but breaks ties in no fixed order, keys its report by names of runs, and compiles itself for
half a minute in every process.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from repro.errors import UsageError
from repro.retrieval.evaluation.holm import holm
from repro.retrieval.evaluation.measures import parse_measure, score
from repro.retrieval.evaluation.paired import matrix, pairwise_tests

Ranking = Sequence[tuple[str, float]]


def compare(
    runs: Sequence[Mapping[str, Ranking] | Callable[[], Mapping[str, Ranking]]],
    names: Sequence[str],
    qrels: Mapping[str, Mapping[str, int]],
    measures: Sequence[str],
    *,
    max_p: float = 0.05,
    ignore_identical_ids: bool = False,
) -> dict:
    """Compare every pair of runs on every measure by a two-sided paired t-test over the judged queries.

    Args:
        runs: rankings as ``read_run`` gives them, or functions that read one (one is then held at a time).
        names: a name for each run; equal names stay two systems.
        max_p: level recorded in the result; ``p <= max_p`` is significant.

    Returns ``{"test": "student", "max_p": …, "measures": {measure: {"names", "means", "p", "wins", "ties",
    "losses", "identical", …}}}``, the rest as ``evaluation.paired.pairwise_tests`` gives it, with
    ``holm_student_p``, the correction of ``p`` among all systems compared with i. ``p[i][j]`` and the counts
    of queries on which i is above, equal to or below j are None on the diagonal. Two runs with the same score
    on every query have no t statistic: their p is 1.0 and the pair ``[i, j]`` (i < j) is listed under
    ``identical``. A p which cannot be computed otherwise (one query) is None. Judged queries absent from a
    run score 0, unjudged ones are left out.
    Raises UsageError for an unknown measure or when names and runs differ in number.
    """
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs were given {len(names)} names; each needs one")
    for text in measures:
        parse_measure(text)
    rankings = (run() if callable(run) else run for run in runs)
    options = {"ignore_identical_ids": ignore_identical_ids}
    scores = [score(run, qrels, list(measures), **options).measures for run in rankings]
    return compare_scores(scores, names, sorted(qrels), measures, max_p=max_p)


def compare_scores(
    scores: Sequence[Mapping[str, Sequence[float]]],
    names: Sequence[str],
    queries: Sequence[str],
    measures: Sequence[str],
    *,
    max_p: float = 0.05,
) -> dict:
    """Compare systems as :func:`compare` does, by their scores (``{measure: [score, …]}`` each) without runs.

    Raises UsageError when names and systems differ in number, DataError for a score that is no finite number.
    """
    if len(scores) != len(names):
        raise UsageError(f"{len(scores)} systems were given {len(names)} names; each needs one")
    tables_by_measure = {}
    for text in measures:
        values = np.array([system[text] for system in scores], dtype=np.float64)
        tests = pairwise_tests(values, queries, text)  # refuses what is not finite
        tables = _means_and_t_tests(values, names)
        tables_by_measure[text] = {**tables, **tests, "holm_student_p": [holm(row) for row in tables["p"]]}
    return {"test": "student", "max_p": max_p, "measures": tables_by_measure}


def _means_and_t_tests(scores: np.ndarray, names: Sequence[str]) -> dict:
    """Means, t-tests and counts of queries of every two systems, by their scores (S, Q)."""
    from ranx.statistical_tests import paired_student_t_test

    count = len(scores)
    are_equal = [[bool((scores[i] == scores[j]).all()) for j in range(count)] for i in range(count)]

    def p_value(i: int, j: int) -> float | None:
        if are_equal[i][j]:
            return 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a single query has no spread, and no p
            p = float(paired_student_t_test(scores[i], scores[j])[0])
        return None if math.isnan(p) else p

    return {
        "names": list(names),
        "means": scores.mean(axis=1).tolist(),
        "p": matrix(count, p_value),
        "wins": matrix(count, lambda i, j: int((scores[i] > scores[j]).sum())),
        "ties": matrix(count, lambda i, j: int((scores[i] == scores[j]).sum())),
        "losses": matrix(count, lambda i, j: int((scores[i] < scores[j]).sum())),
        "identical": [[i, j] for i in range(count) for j in range(i + 1, count) if are_equal[i][j]],
    }
