"""Whether an order of methods holds as models and budgets grow: a regression over two sizes, extrapolated.

A method's difference to a reference, seed by seed, is fitted by least squares as a plane over the base-2
logarithms of both sizes. The intervals are those of the normal linear model (Montgomery, Peck and Vining
2012, Introduction to Linear Regression Analysis, sections 3.4 and 3.5): runs are taken as independent of each
other, of one variance, and the plane as true. Of its shape two values of a size say nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2, sqrt
from statistics import fmean

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
    """Each method's trend; left out are those with too few seeds or sizes to fit a plane and its error."""
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
    constant, *doublings = (Interval(*row) for row in bounds)
    return MethodTrend(
        method, _means(differences), tuple(doublings), constant, len(design), deviation, freedom
    )


def _means(differences: Sequence[tuple[Size, float]]) -> dict[Size, float]:
    """Size -> mean over its runs."""
    by_size: dict[Size, list[float]] = {}
    for size, value in differences:
        by_size.setdefault(size, []).append(value)
    return {size: fmean(values) for size, values in by_size.items()}


def _terms(size: Size, larger: Size) -> tuple[float, float, float]:
    """A row of the design: a constant, and by how many doublings the sizes are from the larger ones."""
    return 1.0, *(log2(one / other) for one, other in zip(size, larger, strict=True))
