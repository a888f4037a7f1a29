"""Student's t-test, and Holm's correction, e.g. of [0.01, 0.04, None] to [0.02, 0.04, None]."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, variance
from typing import Any

from repro.machine.file_cache import kept


@dataclass(frozen=True)
class MeansTest:
    """Student's ``statistic`` t of two independent groups, with a two-sided ``p``."""

    statistic: float
    degrees: int
    p: float


def unpaired_t_test(first: Sequence[float], second: Sequence[float]) -> MeansTest | None:
    """Return Student's t-test with a pooled variance, or None if it is undefined."""
    sizes = len(first), len(second)
    if min(sizes) < 2 or len(set(first)) == len(set(second)) == 1:
        return None
    degrees = sum(sizes) - 2
    pooled = sum((n - 1) * variance(group) for n, group in zip(sizes, (first, second), strict=True)) / degrees
    t = (fmean(first) - fmean(second)) / math.sqrt(pooled * (1 / sizes[0] + 1 / sizes[1]))
    return MeansTest(t, degrees, float(_two_sided(t, degrees)))


def _two_sided(t, degrees: int) -> Any:
    import mpmath  # scipy is much larger

    return mpmath.betainc(degrees / 2, 0.5, 0, degrees / (degrees + t * t), regularized=True)


@cache
def quantile(degrees: int, confidence: float = 0.95) -> float:
    """Return the two-sided quantile of Student's t, e.g. 12.7 for 1 degree of freedom."""

    def found() -> float:
        import mpmath

        return float(mpmath.findroot(lambda t: _two_sided(t, degrees) - (1 - confidence), (2, 3)))

    return kept(f"quantile {degrees} {confidence}", b"", found)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values by Holm's step-down method. None stays None and does not count."""
    sorted_pairs = sorted(
        (p, place) for place, p in enumerate(p_values) if p is not None and not math.isnan(p)
    )
    corrections: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(sorted_pairs):
        largest = max(largest, min(1.0, (len(sorted_pairs) - rank) * p))
        corrections[place] = largest
    return corrections
