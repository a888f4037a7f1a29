"""The power of a design of queries and seeds: the difference that it sees, and the seeds that one takes."""

from math import sqrt

from repro.retrieval.evaluation.crossed import Variances

POWER = 0.8
MOST_SEEDS = 1000
STEPS = 400  # of the integral over mean squares of seeds


def power(difference: float, variances: Variances, *, queries: int, seeds: int, level: float) -> float:
    """Return the probability that the test of ``evaluation.crossed`` sees a true difference, with its sign.

    The mean square of seeds, of few degrees of freedom, is integrated over its distribution, a scaled
    chi-squared; those of queries and residual, of very many, are taken at what is to be expected.

    Args:
        queries, seeds: of the design, two at least.
        level: of the two-sided test.
    """
    from scipy.special import ndtr

    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 1.0 if difference else level / 2
    critical_means = _critical_means(variances, queries, seeds, level)
    return float(ndtr((abs(difference) - critical_means) / error).mean())


def smallest_seen(variances: Variances, *, queries: int, seeds: int, level: float) -> float:
    """The smallest true difference that the design sees with a power of 80 %; 0 where nothing varies."""
    from scipy.optimize import brentq

    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 0.0
    design = {"queries": queries, "seeds": seeds, "level": level}
    # a difference one standard error above every such mean is seen with a power over ndtr(1) = .84
    upper_bound = float(_critical_means(variances, queries, seeds, level).max()) + error
    return float(brentq(lambda d: power(d, variances, **design) - POWER, 0.0, upper_bound, xtol=1e-6 * error))


def equivalent_at_zero(
    matters: float, variances: Variances, *, queries: int, seeds: int, level: float
) -> float:
    """The probability that two one-sided tests, each at ``level``, find a true difference of 0 equivalent.

    That is, that the interval of confidence 1 - 2 level lies within plus and minus ``matters``.
    """
    from scipy.special import ndtr

    error = sqrt(variances.of_mean(queries, seeds))
    if not error:
        return 1.0
    room = (matters - _critical_means(variances, queries, seeds, 2 * level)) / error
    return float((2 * ndtr(room.clip(0)) - 1).mean())


def seeds_needed(difference: float, variances: Variances, *, queries: int, level: float) -> int | None:
    """The fewest seeds with which a true difference is seen with a power of 80 %, on as many queries.

    None where 1000 are not enough: the variance between queries alone hides it.
    """

    def seen(seeds: int) -> bool:
        return power(difference, variances, queries=queries, seeds=seeds, level=level) >= POWER

    low, high = 1, 2  # the fewest are above low; of high it is not known yet
    while not seen(high):
        if high >= MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _critical_means(variances: Variances, queries: int, seeds: int, level: float):
    """The least positive means that the test rejects, (STEPS,), at equally probable mean squares of seeds."""
    import numpy as np
    from scipy.special import chdtri, stdtrit

    tail_probabilities = (np.arange(STEPS) + 0.5) / STEPS  # the probability of a larger one
    q, r = seeds * variances.queries + variances.residual, variances.residual
    s = (queries * variances.seeds + r) * chdtri(seeds - 1, tail_probabilities) / (seeds - 1)
    total = np.maximum(np.maximum(q + s - r, q), s)
    spread = q**2 / (queries - 1) + s**2 / (seeds - 1) + r**2 / ((queries - 1) * (seeds - 1))
    return stdtrit(total**2 / spread, 1 - level / 2) * np.sqrt(total / (queries * seeds))
