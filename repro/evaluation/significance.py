"""Paired tests between systems: Student's t through ranx, with the tests of ``paired`` beside it.

ranx reads scores, keys its results by the run's name, breaks ties in no fixed order, and compiles itself anew
for every length of a document id. It is given whole-number scores which only state the ranking, and names of
our own for runs and documents; what it reports is copied by position.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from repro.errors import UsageError
from repro.evaluation.measures import Measure, by_rank, parse_measure, score
from repro.evaluation.paired import holm, matrix, paired

RANX_NAMES = {"RR": "mrr", "nDCG": "ndcg", "R": "recall", "Success": "hit_rate"}

Ranking = Sequence[tuple[str, float]]


def ranx_name(measure: Measure) -> str:
    """``R(rel=2)@1000`` is ranx's ``recall@1000-l2``."""
    level = f"-l{measure.rel}" if measure.rel != 1 else ""
    return f"{RANX_NAMES[measure.name]}@{measure.cutoff}{level}"


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
        max_p: level recorded in the result; ranx marks ``p <= max_p`` as significant.

    Returns ``{"test": "student", "max_p": …, "measures": {measure: {"names", "means", "p", "wins", "ties",
    "losses", "identical", …}}}``, the rest being what :func:`repro.evaluation.paired.paired` gives and
    ``holm_student_p``, the correction of ``p`` among all systems compared with i. ``p[i][j]`` and the counts
    of queries on which i is above, equal to or below j are None on the diagonal. Two runs with the same score
    on every query have no t statistic: their p is 1.0 and the pair ``[i, j]`` (i < j) is listed under
    ``identical``. A p which cannot be computed otherwise (one query) is None. Judged queries absent from a
    run score 0, unjudged ones are left out.
    Raises UsageError for an unknown measure or when names and runs differ in number.
    """
    if len(runs) != len(names):
        raise UsageError(f"{len(runs)} runs were given {len(names)} names; each needs one")
    wanted = {text: ranx_name(parse_measure(text)) for text in measures}
    read = (run() if callable(run) else run for run in runs)
    rankings = [judged_part(run, qrels, ignore_identical_ids=ignore_identical_ids) for run in read]
    report = _report(rankings, qrels, sorted(set(wanted.values())), max_p)
    tables_by_measure = {text: _tables(report, metric, names) for text, metric in wanted.items()}
    scores = [_scores(ranking, qrels, measures) for ranking in rankings]
    for text, tables in tables_by_measure.items():
        tables |= paired(np.array([each[text] for each in scores]), sorted(qrels), text)
        tables["holm_student_p"] = [holm(row) for row in tables["p"]]
    return {"test": "student", "max_p": max_p, "measures": tables_by_measure}


def compare_scores(
    scores: Sequence[Mapping[str, Sequence[float]]],
    names: Sequence[str],
    queries: Sequence[str],
    measures: Sequence[str],
    *,
    max_p: float = 0.05,
) -> dict:
    """Compare systems as :func:`compare` does, by their scores (``{measure: [score, …]}`` each) without runs.

    Where ranx has no measure, or a mean is taken over several collections: t is ``scipy.stats.ttest_rel``.
    Raises UsageError when names and systems differ in number, DataError for a score that is no finite number.
    """
    if len(scores) != len(names):
        raise UsageError(f"{len(scores)} systems were given {len(names)} names; each needs one")
    tables_by_measure = {}
    for text in measures:
        values = np.array([system[text] for system in scores], dtype=np.float64)
        tests = paired(values, queries, text)  # refuses what is not finite before anything is made of it
        tables = _count(values, names)
        tables_by_measure[text] = {**tables, **tests, "holm_student_p": [holm(row) for row in tables["p"]]}
    return {"test": "student", "max_p": max_p, "measures": tables_by_measure}


def judged_part(
    run: Mapping[str, Ranking], qrels: Mapping[str, Mapping[str, int]], *, ignore_identical_ids: bool
) -> dict[str, dict[str, float]]:
    """A run over exactly the judged queries, as scores that state ranks, cut behind the last relevant hit.

    What follows that hit changes none of our measures, but is most of a run: on sparse judgements the cut
    saves ranx nine tenths of its memory. A ranking without a hit keeps one document, as ranx takes none
    without. Documents are named as in :func:`short_names`, unjudged ones by their rank.
    """
    part = {}
    for qid, judged in qrels.items():
        documents = [d for d, _ in run.get(qid, ()) if not (ignore_identical_ids and d == qid)]
        hits = [rank for rank, d in enumerate(documents, start=1) if judged.get(d, 0) > 0]
        names = short_names(judged)
        cut = documents[: hits[-1]] if hits else [""]
        part[qid] = by_rank([names.get(d, f"u{rank:07d}") for rank, d in enumerate(cut)])
    return part


def short_names(judged: Iterable[str]) -> dict[str, str]:
    """Names of one length for the judged documents of a query, by their order there."""
    return {document: f"j{i:07d}" for i, document in enumerate(judged)}


def _report(rankings, qrels, metrics: list[str], max_p: float) -> dict:
    """ranx's report as a dictionary; runs are named by their position."""
    import numba
    import ranx

    judgements = ranx.Qrels.from_dict({qid: _rename(judged) for qid, judged in qrels.items()})
    runs = [ranx.Run.from_dict(ranking, name=str(i)) for i, ranking in enumerate(rankings)]
    threads = numba.get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a t without spread divides by zero; the tables tell such pairs
            return ranx.compare(judgements, runs, metrics, stat_test="student", max_p=max_p).to_dict()
    finally:
        numba.set_num_threads(threads)  # ranx leaves it at 1 after fewer than ten queries


def _rename(judged: Mapping[str, int]) -> dict[str, int]:
    names = short_names(judged)
    return {names[document]: grade for document, grade in judged.items()}


def _tables(report: dict, metric: str, names: Sequence[str]) -> dict:
    size = range(len(names))

    def count(outcome: str) -> list[list[int | None]]:
        return matrix(len(size), lambda i, j: int(report[str(i)]["win_tie_loss"][str(j)][metric][outcome]))

    wins, ties, losses = count("W"), count("T"), count("L")
    identical = [[i, j] for i in size for j in size if i < j and wins[i][j] == losses[i][j] == 0]

    def p_value(i: int, j: int) -> float | None:
        if sorted((i, j)) in identical:
            return 1.0
        p = float(report[str(i)]["comparisons"][str(j)][metric])
        return None if math.isnan(p) else p

    return {
        "names": list(names),
        "means": [report[str(i)]["scores"][metric] for i in size],
        "p": matrix(len(size), p_value),
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "identical": identical,
    }


def _scores(ranking: Mapping[str, Mapping[str, float]], qrels, measures) -> dict[str, list[float]]:
    """Scores of a judged part, query by query in the order of their sorted ids."""
    judged = {qid: _rename(grades) for qid, grades in qrels.items()}
    run = {qid: list(documents.items()) for qid, documents in ranking.items()}
    return score(run, judged, list(measures), ignore_identical_ids=False).measures


def _count(scores: np.ndarray, names: Sequence[str]) -> dict:
    """The tables that ranx reports, computed from scores (S, Q)."""
    from scipy.stats import ttest_rel

    count = len(scores)
    same = [[bool((scores[i] == scores[j]).all()) for j in range(count)] for i in range(count)]

    def p_value(i: int, j: int) -> float | None:
        if same[i][j]:
            return 1.0
        return float(ttest_rel(scores[i], scores[j]).pvalue) if scores.shape[1] > 1 else None

    return {
        "names": list(names),
        "means": scores.mean(axis=1).tolist(),
        "p": matrix(count, p_value),
        "wins": matrix(count, lambda i, j: int((scores[i] > scores[j]).sum())),
        "ties": matrix(count, lambda i, j: int((scores[i] == scores[j]).sum())),
        "losses": matrix(count, lambda i, j: int((scores[i] < scores[j]).sum())),
        "identical": [[i, j] for i in range(count) for j in range(i + 1, count) if same[i][j]],
    }
