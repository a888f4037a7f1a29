"""Compares two groups of runs by their means."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MeansTest:
    """Student's t of two independent groups.

    Attributes:
        statistic: t, positive where the first group's mean is larger.
        degrees: of freedom.
        p: with two sides.
    """

    statistic: float
    degrees: int
    p: float


def unpaired_t_test(first: Sequence[float], second: Sequence[float]) -> MeansTest | None:
    """Student's t-test with a pooled variance, its unit being one run of a group.

    To the digit ``scipy.stats.ttest_ind``, which takes longer to import than a report to write.

    None where a group has fewer than two values, or where no value differs from its group's mean: there is
    then no variance to hold a difference against.
    """
    import numpy as np
    from scipy.special import stdtr

    if min(len(first), len(second)) < 2 or len(set(first)) == len(set(second)) == 1:
        return None
    (a, mean_a), (b, mean_b) = ((len(group), np.mean(group)) for group in (first, second))
    variances = [np.mean((np.array(group) - np.mean(group)) ** 2) for group in (first, second)]
    degrees = a + b - 2
    pooled_variance = (
        (a - 1) * (variances[0] * (a / (a - 1))) + (b - 1) * (variances[1] * (b / (b - 1)))
    ) / degrees
    t = (mean_a - mean_b) / np.sqrt(pooled_variance * (1 / a + 1 / b))
    return MeansTest(float(t), degrees, float(2 * stdtr(degrees, -abs(t))))
