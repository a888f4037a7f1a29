"""The mean of scores that vary with queries and with seeds, both taken as samples of what they might be.

Every query is scored under every seed, once: two crossed random factors without replication,
``x[q, s] = mean + query[q] + seed[s] + residual[q, s]``, as in radiology's designs of many readers and many
cases (Dorfman, Berbaum and Metz 1992; Obuchowski and Rockette 1995), with the degrees of freedom of
Satterthwaite (1946).
Owen's pigeonhole bootstrap (2007), which draws queries and seeds anew at once, estimates the same variance.

Satterthwaite's degrees of freedom are an approximation. By simulation of normal scores, 5 seeds of 1,000
queries, a test at .05 rejects what is so in .02 to .058 of all cases: least where seeds do not matter, most
where they add several times as much to the variance of the mean as all else. A smaller level is kept less
well: .0125, Holm's first step of four tests, is .003 to .019.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

ROUNDING = 1e-12  # of the mean: an error up to it is that of floating-point numbers


@dataclass(frozen=True)
class Variances:
    """The variance between queries, between seeds, and of the residual; what is estimated below 0 is 0."""

    queries: float
    seeds: float
    residual: float

    def of_mean(self, queries: int, seeds: int) -> float:
        """The variance of the mean over so many queries and seeds."""
        return self.queries / queries + self.seeds / seeds + self.residual / (queries * seeds)


@dataclass(frozen=True)
class Estimate:
    """A mean over queries and seeds.

    Attributes:
        error: its standard error.
        freedom: degrees of freedom of the error.
        queries, seeds: how many there are of each.
    """

    mean: float
    error: float
    freedom: float
    queries: int
    seeds: int
    variances: Variances

    def half_width(self, confidence: float = 0.95) -> float:
        """Half of the width of Student's interval."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.error if self.error else 0.0

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Student's interval of the mean."""
        half = self.half_width(confidence)
        return self.mean - half, self.mean + half

    @cached_property
    def p(self) -> float:
        """The two-sided p-value of a mean of 0."""
        from scipy.special import stdtr

        if not self.error:
            return 0.0 if self.mean else 1.0
        return float(2 * stdtr(self.freedom, -abs(self.mean) / self.error))


def estimate(scores: Sequence[Sequence[float]]) -> Estimate | None:
    """The mean of scores (Q, S), a row a query and a column a seed; None below two of either.

    With the mean squares of queries, seeds and residual, the variance is (MSq + MSs - MSr) / QS, never below
    max(MSq, MSs) / QS: a variance between seeds that is estimated below 0 takes nothing off that of queries,
    nor the other way round.
    """
    import numpy as np

    x = np.asarray(scores, dtype=np.float64)
    if min(x.shape) < 2:
        return None
    q, s = x.shape
    return of_mean_squares(float(x.mean()), mean_squares(x), queries=q, seeds=s)


def of_mean_squares(mean: float, squares: Sequence[float], *, queries: int, seeds: int) -> Estimate:
    """The estimate from a mean and the mean squares of queries, seeds and residual."""
    query_square, seed_square, residual_square = squares
    total = max(query_square + seed_square - residual_square, query_square, seed_square)
    variances = Variances(
        max(query_square - residual_square, 0.0) / seeds,
        max(seed_square - residual_square, 0.0) / queries,
        residual_square,
    )
    error = sqrt(total / (queries * seeds))
    error = error if error > ROUNDING * abs(mean) else 0.0
    return Estimate(mean, error, _freedom(total, squares, queries, seeds), queries, seeds, variances)


def mean_squares(x) -> tuple[float, float, float]:
    """The mean squares of rows, columns and residual of an array (Q, S), two at least of either."""
    q, s = x.shape
    rows, columns, mean = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True), x.mean()
    residual = x - rows - columns + mean
    return (
        float(s * ((rows - mean) ** 2).sum() / (q - 1)),
        float(q * ((columns - mean) ** 2).sum() / (s - 1)),
        float((residual**2).sum() / ((q - 1) * (s - 1))),
    )


def _freedom(total: float, squares: Sequence[float], queries: int, seeds: int) -> float:
    """Satterthwaite's degrees of freedom of ``total``, a sum of the mean squares with signs."""
    degrees = queries - 1, seeds - 1, (queries - 1) * (seeds - 1)
    spread = sum(square**2 / n for square, n in zip(squares, degrees, strict=True))
    return total**2 / spread if spread else float(min(degrees))
