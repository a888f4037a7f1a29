"""Whether an order of methods holds as models and budgets grow: fitted and extrapolated.

A method's difference to a reference, seed by seed, is fitted by least squares as a plane over the base-2
logarithms of both sizes. The intervals are those of the normal linear model (Montgomery, Peck and Vining
2012, Introduction to Linear Regression Analysis, sections 3.4 and 3.5): runs are taken as independent of each
other, of one variance, and the plane as true. Of its shape two values of a size say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import log2, sqrt
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


CONFIDENCE = 0.95

Size = tuple[float, float]
Seed = int | None


@dataclass(frozen=True)
class Run:
    """The score of one method at one size, trained with one seed."""

    method: str
    size: Size
    seed: Seed
    score: float


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where all of the interval is above or below zero, else 0."""
        return (self.low > 0) - (self.high < 0)


@dataclass(frozen=True)
class MethodTrend:
    """The growth of one method's difference to the reference.

    Attributes:
        means: size -> mean difference over seeds.
        doublings: what a doubling of each size adds to the difference.
        extrapolated: the difference that one more run, with a seed of its own, would have at the larger
            size: a prediction interval.
        runs: pairs of runs that were fitted.
        deviation: the residuals' standard deviation; ``freedom`` its degrees of freedom.
    """

    method: str
    means: Mapping[Size, float]
    doublings: tuple[Interval, Interval]
    extrapolated: Interval
    runs: int
    deviation: float
    freedom: int


def method_trends(runs: Sequence[Run], reference: str, larger: Size) -> list[MethodTrend]:
    """Return each method's trend; left out are those with too few seeds or sizes to fit a plane and its
    error."""
    methods = dict.fromkeys(run.method for run in runs if run.method != reference)
    trends = (_trend(method, _differences(runs, method, reference), larger) for method in methods)
    return [trend for trend in trends if trend]


def _differences(runs: Sequence[Run], method: str, reference: str) -> list[tuple[Size, float]]:
    """Size and difference of every run of a method to the reference's of the same size and seed."""
    base = {(run.size, run.seed): run.score for run in runs if run.method == reference}
    method_runs = (run for run in runs if run.method == method and (run.size, run.seed) in base)
    return [(run.size, run.score - base[run.size, run.seed]) for run in method_runs]


def _trend(method: str, differences: Sequence[tuple[Size, float]], larger: Size) -> MethodTrend | None:
    import numpy as np
    from scipy.stats import t

    design = np.array([_terms(size, larger) for size, _ in differences]).reshape(-1, 3)
    freedom = len(design) - 3
    if freedom < 1 or np.linalg.matrix_rank(design) < 3:
        return None
    values = np.array([value for _, value in differences])
    coefficients, *_ = np.linalg.lstsq(design, values)
    deviation = float(np.linalg.norm(values - design @ coefficients)) / sqrt(freedom)
    unscaled = np.linalg.inv(design.T @ design)  # times the variance: that of the coefficients
    quantile = float(t.ppf((1 + CONFIDENCE) / 2, freedom))
    # `larger` is the origin, so that the constant is the plane's value there; a run has a variance besides
    spreads = np.sqrt(np.diag(unscaled + np.diag([1.0, 0.0, 0.0]))) * deviation * quantile
    bounds = np.column_stack([coefficients, coefficients - spreads, coefficients + spreads]).tolist()
    constant, by_x, by_across = (Interval(*row) for row in bounds)
    return MethodTrend(
        method, _means(differences), (by_x, by_across), constant, len(design), deviation, freedom
    )


def _means(differences: Sequence[tuple[Size, float]]) -> dict[Size, float]:
    """Size -> mean over its runs."""
    by_size: dict[Size, list[float]] = {}
    for size, value in differences:
        by_size.setdefault(size, []).append(value)
    return {size: fmean(values) for size, values in by_size.items()}


def _terms(size: Size, larger: Size) -> tuple[float, float, float]:
    """Return a row of the design: a constant, and by how many doublings the sizes are from the larger
    ones."""
    return 1.0, log2(size[0] / larger[0]), log2(size[1] / larger[1])


Scores = Mapping[str, Mapping[Seed, float]]  # method -> seed -> score
ALL_DRAWS = 4096  # up to so many are gone through, else so many are drawn
FEWEST_SEEDS = 3  # of an interval
PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class Order:
    """The agreement of the orders at two sizes.

    Attributes:
        tau: Kendall's tau-b of the means over seeds. None where the scores of one size are all alike.
        bounds: of its 95 % interval, the bootstrap's over seeds, which few seeds make too narrow; None
            below three.
        methods, seeds: how many were ranked, and drawn from.
    """

    smaller: Size
    larger: Size
    tau: float | None
    methods: int
    seeds: int
    bounds: tuple[float, float] | None = None


def orders(runs: Sequence[Run]) -> list[Order]:
    """Return the agreement of every pair of sizes, over the methods and seeds that both have."""
    sizes = sorted({run.size for run in runs})
    return [_order(runs, one, other) for one, other in combinations(sizes, 2)]


def _order(runs: Sequence[Run], smaller: Size, larger: Size) -> Order:
    one, other = _scores(runs, smaller), _scores(runs, larger)
    methods = [method for method in one if method in other]
    seeds = [seed for seed in _seeds(one, methods) if seed in _seeds(other, methods)]
    tau = _tau(one, other, methods, seeds) if len(methods) > 1 and seeds else None
    value, bounds = tau or (None, None)
    return Order(smaller, larger, value, len(methods), len(seeds), bounds)


def _scores(runs: Sequence[Run], size: Size) -> dict[str, dict[Seed, float]]:
    scores: dict[str, dict[Seed, float]] = {}
    for run in runs:
        if run.size == size:
            scores.setdefault(run.method, {})[run.seed] = run.score
    return scores


def _seeds(scores: Scores, methods: Sequence[str]) -> list[Seed]:
    """Return the seeds of the first of the methods that all of them have."""
    return [
        seed for method in methods[:1] for seed in scores[method] if all(seed in scores[m] for m in methods)
    ]


def _tau(
    one: Scores, other: Scores, methods: Sequence[str], seeds: Sequence[Seed]
) -> tuple[float, tuple[float, float] | None] | None:
    """Return the tau of the means over seeds and the bounds of its interval."""
    import numpy as np

    draws = np.array([range(len(seeds)), *_draws(len(seeds))])  # (1 + D, S): the seeds themselves, then draws
    scores = [np.array([[size[m][seed] for m in methods] for seed in seeds]) for size in (one, other)]
    taus = tau_b(*(array[draws].mean(axis=1) for array in scores))  # (1 + D,)
    if np.isnan(taus[0]):
        return None
    if len(seeds) < FEWEST_SEEDS:
        return float(taus[0]), None
    low, high = np.nanpercentile(taus[1:], PERCENTILES)
    return float(taus[0]), (float(low), float(high))


def tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of the rows of two arrays, (D, M) -> (D,); NaN where a row is all alike."""
    import numpy as np

    pairs = np.triu_indices(one.shape[1], k=1)
    signs = [np.sign(rows[:, pairs[0]] - rows[:, pairs[1]]) for rows in (one, other)]  # (D, M (M - 1) / 2)
    untied_counts = [np.count_nonzero(sign, axis=1) for sign in signs]
    with np.errstate(invalid="ignore"):
        return (signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied_counts[0] * untied_counts[1])


def _draws(count: int) -> list[tuple[int, ...]]:
    """Return every draw of as many with replacement, or where these are too many, some drawn by seed 0."""
    if count**count <= ALL_DRAWS:
        return list(product(range(count), repeat=count))
    random = Random(0)
    return [tuple(random.choices(range(count), k=count)) for _ in range(ALL_DRAWS)]
