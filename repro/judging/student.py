"""Student's quantile in plain Python, so that an interval over queries loads no scipy."""

from decimal import Decimal, localcontext
from functools import cache
from math import atan, exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

EXPANDED_FROM = 250  # degrees of freedom: the first term that is left out is below 1e-15


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
