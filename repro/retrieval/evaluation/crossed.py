"""The mean of scores that vary with queries and with seeds, both treated as random samples.

Every query is scored once under every seed: ``x[q, s] = mean + query[q] + seed[s] + residual[q, s]``, two
crossed random factors without replication (Obuchowski and Rockette 1995), with the degrees of freedom of
Satterthwaite (1946).
"""

import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from math import sqrt
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

POWER = 0.8
MOST_SEEDS = 1000
STEPS = 400  # of the integral over mean squares of seeds
ROUNDING = 1e-12  # of the mean


_LOADING = RLock()


class _Special(ModuleType):
    """The package scipy.special, executed when it lacks a name."""

    def __getattr__(self, name: str):
        with _LOADING:
            if "is_executed" not in vars(self):
                vars(self)["is_executed"] = True
                vars(self)["__loader__"].exec_module(self)
        return ModuleType.__getattribute__(self, name)


@cache
def special() -> ModuleType:
    """Return the functions of scipy.special. Its package is not executed, as that takes six times as long."""
    name = "scipy.special"
    with _LOADING:
        if name not in sys.modules and (spec := find_spec(name)):
            sys.modules[name] = module_from_spec(spec)
            sys.modules[name].__class__ = _Special
        return import_module(f"{name}._ufuncs")


@dataclass(frozen=True)
class Variances:
    """The variance of queries, seeds and residual. Negative estimates become 0."""

    queries: float
    seeds: float
    residual: float

    def of_mean(self, queries: int, seeds: int) -> float:
        return self.queries / queries + self.seeds / seeds + self.residual / (queries * seeds)


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard ``error`` and that error's degrees of ``freedom``."""

    mean: float
    error: float
    freedom: float
    queries: int
    seeds: int
    variances: Variances

    def half_width(self, confidence: float = 0.95) -> float:
        return (
            float(special().stdtrit(self.freedom, (1 + confidence) / 2)) * self.error if self.error else 0.0
        )

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        half = self.half_width(confidence)
        return self.mean - half, self.mean + half

    @cached_property
    def p(self) -> float:
        """The two-sided p-value of a mean of 0."""
        if not self.error:
            return 0.0 if self.mean else 1.0
        return float(2 * special().stdtr(self.freedom, -abs(self.mean) / self.error))


def estimate(scores: Sequence[Sequence[float]]) -> Estimate | None:
    """Estimate the mean of scores (Q, S), with a row per query and a column per seed.

    The variance is (MSq + MSs - MSr) / QS, at least max(MSq, MSs) / QS, by the mean squares of queries (q),
    seeds (s) and residual (r). Returns None for fewer than two queries or seeds.
    """
    import numpy as np

    x = np.asarray(scores, np.float64)
    if min(x.shape) < 2:
        return None
    q, s = x.shape
    return of_mean_squares(float(x.mean()), mean_squares(x), queries=q, seeds=s)


def of_mean_squares(mean: float, squares: Sequence[float], *, queries: int, seeds: int) -> Estimate:
    """Return the estimate for a mean and the mean squares of queries, seeds and residual."""
    query_square, seed_square, residual_square = squares
    total = max(query_square + seed_square - residual_square, query_square, seed_square)
    variances = Variances(
        max(query_square - residual_square, 0.0) / seeds,
        max(seed_square - residual_square, 0.0) / queries,
        residual_square,
    )
    error = sqrt(total / (queries * seeds))
    error = error if error > ROUNDING * abs(mean) else 0.0
    degrees = queries - 1, seeds - 1, (queries - 1) * (seeds - 1)
    spread = sum(square**2 / n for square, n in zip(squares, degrees, strict=True))
    return Estimate(
        mean, error, (total**2 / spread if spread else float(min(degrees))), queries, seeds, variances
    )


def mean_squares(x: "np.ndarray") -> tuple[float, float, float]:
    """Return the mean squares of rows, columns and residual of an array (Q, S)."""
    q, s = x.shape
    rows, columns, mean = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True), x.mean()
    residual = x - rows - columns + mean
    return (
        float(s * ((rows - mean) ** 2).sum() / (q - 1)),
        float(q * ((columns - mean) ** 2).sum() / (s - 1)),
        float((residual**2).sum() / ((q - 1) * (s - 1))),
    )


def power(difference: float, variances: Variances, *, queries: int, seeds: int, level: float) -> float:
    """Return the probability that a two-sided test at ``level`` finds ``difference``, with its sign.

    The mean square of seeds is integrated over its distribution, the others have their expected values.
    """
    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 1.0 if difference else level / 2
    return _power(abs(difference), error, _critical_means(variances, queries, seeds, level))


def _power(difference: float, error: float, critical_means: "np.ndarray") -> float:
    return float(special().ndtr((difference - critical_means) / error).mean())


def smallest_seen(variances: Variances, *, queries: int, seeds: int, level: float) -> float:
    """Return the smallest true difference that the test at ``level`` finds with a power of 80 %."""
    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 0.0
    means = _critical_means(variances, queries, seeds, level)
    low, high = 0.0, float(means.max()) + error  # where the power exceeds ndtr(1) = .84
    while high - low > 1e-6 * error:
        middle = (low + high) / 2
        low, high = (low, middle) if _power(middle, error, means) >= POWER else (middle, high)
    return high


def equivalent_at_zero(
    matters: float, variances: Variances, *, queries: int, seeds: int, level: float
) -> float:
    """Return how probably a 1 - 2 ``level`` interval is within ± ``matters`` if the difference is 0."""
    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 1.0
    room = (matters - _critical_means(variances, queries, seeds, 2 * level)) / error
    return float((2 * special().ndtr(room.clip(0)) - 1).mean())


def seeds_needed(difference: float, variances: Variances, *, queries: int, level: float) -> int | None:
    """Return the smallest number of seeds with a power of 80 %, at least 2, or None above 1000."""

    def seen(seeds: int) -> bool:
        return power(difference, variances, queries=queries, seeds=seeds, level=level) >= POWER

    numbers = range(2, MOST_SEEDS + 1)
    place = bisect_left(numbers, True, key=seen)
    return numbers[place] if place < len(numbers) else None


def _critical_means(variances: Variances, queries: int, seeds: int, level: float) -> "np.ndarray":
    import numpy as np

    tail_probabilities = (np.arange(STEPS) + 0.5) / STEPS
    q, r = seeds * variances.queries + variances.residual, variances.residual
    s = (queries * variances.seeds + r) * special().chdtri(seeds - 1, tail_probabilities) / (seeds - 1)
    total = np.maximum(np.maximum(q + s - r, q), s)
    spread = q**2 / (queries - 1) + s**2 / (seeds - 1) + r**2 / ((queries - 1) * (seeds - 1))
    return special().stdtrit(total**2 / spread, 1 - level / 2) * np.sqrt(total / (queries * seeds))
