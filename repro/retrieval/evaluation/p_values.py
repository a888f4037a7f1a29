"""Student's t-test for two groups of runs, and Holm's correction, e.g. of [0.01, 0.04, None] to [0.02, 0.04,
None]."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MeansTest:
    """Student's t of two independent groups.

    Attributes:
        statistic: t, positive if the first group's mean is larger.
        degrees: degrees of freedom.
        p: the two-sided p-value.
    """

    statistic: float
    degrees: int
    p: float


def unpaired_t_test(first: Sequence[float], second: Sequence[float]) -> MeansTest | None:
    """Return Student's t-test with a pooled variance. None with fewer than two values or without variance."""
    from scipy.stats import ttest_ind

    if min(len(first), len(second)) < 2 or len(set(first)) == len(set(second)) == 1:
        return None
    result = ttest_ind(first, second)
    return MeansTest(float(result.statistic), int(result.df), float(result.pvalue))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct one family of p-values by Holm's step-down method. None stays None and does not count."""
    sorted_pairs = sorted(
        (p, place) for place, p in enumerate(p_values) if p is not None and not math.isnan(p)
    )
    corrections: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(sorted_pairs):
        largest = max(largest, min(1.0, (len(sorted_pairs) - rank) * p))
        corrections[place] = largest
    return corrections
