"""The interval over queries of a measured mean: how far it would move with other queries of their kind.

Published and measured means are over the same queries, so that what the queries contribute is largely common
to both, and neither holds how much another training of the same system would differ. A published mean outside
of the interval is therefore strong evidence of another system; one inside proves no equality, the less the
fewer queries there are (43 leave about ±.08 of nDCG@10).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from math import atan, exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist, fmean

from repro.manifest.printed import PublishedCell
from repro.store.results import Record
from repro.verdicts.tolerance import UNITS

CONFIDENCE = 0.95


@dataclass(frozen=True)
class QueryInterval:
    """The 95 % interval of a mean over queries by Student's t, in the unit of the published number.

    It ends where the measure does.

    Attributes:
        queries: how many the mean is taken over.
    """

    low: float
    high: float
    queries: int

    def holds(self, printed: PublishedCell) -> bool | None:
        """Whether a number that rounds to the published one lies inside; None for dash, words and bound."""
        if printed.value is None or printed.bound:
            return None
        half_unit = 10.0**-printed.decimals / 2
        return self.low <= float(printed.value) + half_unit and float(printed.value) - half_unit <= self.high


def query_interval(records: Sequence[Record]) -> QueryInterval | None:
    """The interval of the mean of one cell's records, one per seed; None where they say too little.

    Of several seeds the deviation is the mean of theirs, which no mean over seeds can exceed: the interval is
    then a little too wide. None for an average of several collections, and where no query differs from
    another (all found, or none): t then has no width, whatever other queries would give.
    """
    deviations = [r.deviation for r in records]
    if not records or None in deviations or not any(deviations) or records[0].queries < 2:
        return None
    queries, mean = records[0].queries, fmean(r.measured for r in records)
    half_width = quantile(queries - 1, (1 + CONFIDENCE) / 2) * fmean(deviations) / sqrt(queries)
    greatest = float(UNITS[records[0].unit])
    return QueryInterval(max(0.0, mean - half_width), min(greatest, mean + half_width), queries)


EXPANDED_FROM = 250  # degrees of freedom: the first term that is left out is below 1e-15


# Student's quantile in plain Python, so that an interval over queries loads no scipy


@cache
def quantile(freedom: int, probability: float) -> float:
    """The t with so many degrees of freedom that has ``probability``, which is over 1/2, below it."""
    t = _expansion(freedom, NormalDist().inv_cdf(probability))
    step = 0.0 if freedom >= EXPANDED_FROM else t
    while abs(step) > 1e-9 * t:  # of Newton's; the next one would be its square
        step = (_central_probability(freedom, t) - (2 * probability - 1)) / (2 * _density(freedom, t))
        t -= step
    return t


def _expansion(freedom: int, normal: float) -> float:
    """The quantile by its expansion about the normal one (Abramowitz and Stegun 26.7.5 and one more)."""
    s = normal * normal
    terms = (
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
        (((((27 * s + 339) * s + 930) * s - 1782) * s - 765) * s + 17955) / 368640,
    )
    return normal * (1 + sum(term / freedom**power for power, term in enumerate(terms, start=1)))


def _central_probability(freedom: int, t: float) -> float:
    """The probability between -t and t by its finite series (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    odd = freedom % 2
    with localcontext() as digits:
        digits.prec = 30  # a float would lose a digit in its powers
        cos_squared = freedom / (freedom + Decimal(t) ** 2)
        term, total = cos_squared.sqrt() if odd else Decimal(1), Decimal(0)
        for k in range(freedom // 2):
            total += term
            term *= cos_squared * (2 * k + 1 + odd) / (2 * k + 2 + odd)
        series = float((1 - cos_squared).sqrt() * total)
    return (atan(t / sqrt(freedom)) + series) * 2 / pi if odd else series


def _density(freedom: int, t: float) -> float:
    constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    return exp(constant - (freedom + 1) / 2 * log1p(t * t / freedom))
