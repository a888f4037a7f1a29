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


def unpaired(first: Sequence[float], second: Sequence[float]) -> MeansTest | None:
    """Student's t-test with a pooled variance (``scipy.stats.ttest_ind``), its unit being one run of a group.

    None where a group has fewer than two values, or where no value differs from its group's mean: there is
    then no variance to hold a difference against.
    """
    from scipy.stats import ttest_ind

    if min(len(first), len(second)) < 2 or len(set(first)) == len(set(second)) == 1:
        return None
    test = ttest_ind(first, second)
    return MeansTest(float(test.statistic), len(first) + len(second) - 2, float(test.pvalue))
