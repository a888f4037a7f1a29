"""The scores of every query behind a record, where the store still has them and they give its value."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from repro.evaluation.paired import CONFIDENCE, RESAMPLES, bootstrap_interval, seed_of
from repro.exchange.history import Account, History
from repro.running.records import PER_UNIT
from repro.store import read_json

_ROUNDING = 1e-9  # of the value's unit: what adding the same numbers in another order may change


@dataclass(frozen=True)
class QueryScores:
    """The scores of one evaluation.

    Attributes:
        fingerprint: of the evaluation.
        queries: ids, in the order of ``scores``, which are in the unit of the published number.
    """

    fingerprint: str
    queries: Sequence[str]
    scores: Sequence[float]

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)


def query_scores(account: Account, history: History) -> list[QueryScores]:
    """The scores of each evaluation that a record averages.

    The list is empty where the record is no mean, where the store lacks an evaluation, or where the mean of
    what it has is not the recorded value. Raises StoreError when scores are not what was written.
    """
    evaluations = [history.artefact(fingerprint) for fingerprint in account.evaluations]
    if not account.is_mean or not evaluations or any(e.state != "stored" for e in evaluations):
        return []
    scale, results = PER_UNIT.get(account.record.unit, 1), []
    for evaluation in evaluations:
        content = read_json(history.path(evaluation) / "scores.json")
        values = content["measures"].get(account.record.measure)
        if not values:
            return []
        results.append(QueryScores(evaluation.fingerprint, content["queries"], [scale * v for v in values]))
    value = sum(result.mean for result in results) / len(results)
    return results if abs(value - account.record.measured) <= scale * _ROUNDING else []


def uncertainty_over_queries(of_run: QueryScores, measure: str) -> dict:
    """The 95 % bootstrap interval of the mean, in the words of every_eval_ever; empty below two queries.

    Queries are drawn as in the tests between rows: the interval is that of the difference to a system that
    scores 0 everywhere.
    """
    values = np.array([of_run.scores, np.zeros(len(of_run.scores))])
    if values.shape[1] < 2:
        return {}
    low, high = bootstrap_interval(values, resamples=RESAMPLES, seed=seed_of(measure, of_run.queries))
    interval = {"lower": float(low[0, 1]), "upper": float(high[0, 1]), "confidence_level": CONFIDENCE}
    return {
        "confidence_interval": interval | {"method": "percentile bootstrap over queries"},
        "standard_deviation": statistics.stdev(of_run.scores),
        "num_samples": len(of_run.scores),
        "num_bootstrap_samples": RESAMPLES,
    }


def uncertainty_over_seeds(values: Sequence[float]) -> dict:
    """The 95 % interval of the mean over seeds by Student's t, in the words of every_eval_ever."""
    from scipy.stats import t

    mean, error = statistics.fmean(values), statistics.stdev(values) / len(values) ** 0.5
    half_width = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
    interval = {"lower": mean - half_width, "upper": mean + half_width, "confidence_level": CONFIDENCE}
    return {
        "standard_error": {"value": error, "method": "standard deviation over seeds / sqrt(seeds)"},
        "confidence_interval": interval | {"method": "Student's t over seeds"},
        "num_samples": len(values),
    }
