"""Verdicts: what may be said of our measurements beside a published number.

A published number is rounded, hence an interval of half a unit of its last digit to either side. All
arithmetic is decimal, on measured numbers taken to twelve significant digits: 66.45 is a tie, not
66.4500000000000028.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from repro.errors import DataError
from repro.manifest.arithmetic import rounded
from repro.manifest.decimals import half_unit
from repro.manifest.printed import PublishedCell
from repro.verdicts.tolerance import Tolerance

PASSES = frozenset({"exact", "consistent", "within tolerance"})
FAILS = frozenset({"lower", "higher", "failed"})
NEITHER = frozenset({"inconclusive", "not comparable", "scaled", "blocked", "not run"})
SEEDS_FOR_AN_INTERVAL = 3


@dataclass(frozen=True)
class Verdict:
    """A verdict with its grounds; all numbers are in the paper's unit.

    Attributes:
        name: one of PASSES, FAILS, NEITHER.
        why: the rule applied and its source, one sentence without full stop.
        mean: mean of our seeds, None when nothing was measured.
        difference: mean minus printed value, None where the two are not compared.
        half_width: of the interval used, without that of rounding; None when none was used.
    """

    name: str
    why: str
    mean: float | None = None
    difference: float | None = None
    half_width: float | None = None

    def __post_init__(self):
        assert self.name in PASSES | FAILS | NEITHER, self.name


def verdict(
    printed: PublishedCell,
    measured: Sequence[float],
    *,
    scale: str,
    changed: bool,
    tolerance: Tolerance | None,
) -> Verdict:
    """Judge a printed number by our means, one per seed, in the paper's unit.

    In this order: nothing measured is ``not run``; a scale other than full ``scaled``, and a changed recipe
    or choice ``not comparable``; a published bound is obeyed or not; equal after rounding is ``exact``;
    from three seeds on the prediction interval decides, below that the tolerance class.
    Interval and tolerance are distances from the rounding interval of the published number, not from its
    middle. A dash or words in the paper leave the question ``inconclusive``. ``failed`` and ``blocked`` are
    the caller's to give: they concern stages, not numbers.

    Raises DataError if a measured number is not finite.
    """
    if not measured:
        return Verdict("not run", "nothing has been measured")
    mean = sum(map(_decimal, measured)) / len(measured)
    if scale != "full":
        why = f"measured at scale {scale}; only full is compared with the published numbers"
        return Verdict("scaled", why, float(mean))
    if changed:
        return Verdict("not comparable", "a choice or parameter differs from the default", float(mean))
    if printed.value is None:
        return Verdict("inconclusive", f"the paper states no number: {printed.text!r}", float(mean))
    if printed.bound in tuple("<>≤≥"):
        return _verdict_by_bound(printed, mean)
    if equal_after_rounding(mean, printed):
        why = f"equal to the published number at {printed.decimals} decimal{'s' * (printed.decimals != 1)}"
        return _compared_verdict("exact", why, printed, mean)
    if len(measured) >= SEEDS_FOR_AN_INTERVAL:
        return _verdict_by_seeds(printed, [_decimal(x) for x in measured], tolerance)
    return _verdict_by_tolerance(printed, mean, tolerance)


def equal_after_rounding(mean: Decimal, printed: PublishedCell) -> bool:
    """Whether ``mean`` rounded to the printed decimals is the printed number.

    Authors round half up (66.45 to 66.5) or half to even (66.45 to 66.4) as their tool does; either counts.
    """
    return printed.value in rounded(mean, printed.decimals)


def prediction_half_width(values: Sequence[Decimal]) -> Decimal:
    """t · s · √(1 + 1/k): how far one further seed falls from the mean of k, 95 times in 100.

    t is Student's 0.975 quantile with k-1 degrees of freedom, s the sample standard deviation.
    """
    from scipy.special import stdtrit

    k = len(values)
    return (
        Decimal(repr(float(stdtrit(k - 1, 0.975)))) * statistics.stdev(values) * (1 + Decimal(1) / k).sqrt()
    )


def _verdict_by_seeds(printed: PublishedCell, values: list[Decimal], tolerance: Tolerance | None) -> Verdict:
    """A wide interval may refute but not confirm, or noisy training would pass more easily."""
    mean, half_width = sum(values) / len(values), prediction_half_width(values)
    interval = f"95 % prediction interval of {len(values)} seeds"
    if _gap(mean, printed) > half_width:
        why = f"the published number is outside the {interval}"
        return _compared_verdict(_side(mean, printed), why, printed, mean, half_width)
    if tolerance is None:
        why = f"the published number is inside the {interval}, but no tolerance says how wide that may be"
        return _compared_verdict("inconclusive", why, printed, mean, half_width)
    if half_width > tolerance.half_width:
        why = f"the {interval} is wider than {_tolerance_in_words(tolerance)}"
        return _compared_verdict("inconclusive", why, printed, mean, half_width)
    why = f"the published number is inside the {interval}"
    return _compared_verdict("consistent", why, printed, mean, half_width)


def _verdict_by_tolerance(printed: PublishedCell, mean: Decimal, tolerance: Tolerance | None) -> Verdict:
    if tolerance is None:
        reason = f"fewer than {SEEDS_FOR_AN_INTERVAL} seeds, and no tolerance is stated"
        why = f"not equal to the published number; {reason}"
        return _compared_verdict("inconclusive", why, printed, mean)
    is_inside = _gap(mean, printed) <= tolerance.half_width
    name = "within tolerance" if is_inside else _side(mean, printed)
    why = f"{'inside' if is_inside else 'outside'} {_tolerance_in_words(tolerance)}"
    return _compared_verdict(name, why, printed, mean, tolerance.half_width)


def _verdict_by_bound(printed: PublishedCell, mean: Decimal) -> Verdict:
    bound = printed.value
    is_obeyed = {"<": mean < bound, ">": mean > bound, "≤": mean <= bound, "≥": mean >= bound}[printed.bound]
    name = "consistent" if is_obeyed else _side(mean, printed)
    return _compared_verdict(name, f"the paper states a bound, {printed.bound} {bound}", printed, mean)


def _compared_verdict(
    name: str, why: str, printed: PublishedCell, mean: Decimal, half_width: Decimal | None = None
) -> Verdict:
    width = None if half_width is None else float(half_width)
    return Verdict(name, why, float(mean), float(mean - printed.value), width)


def _gap(mean: Decimal, printed: PublishedCell) -> Decimal:
    """Distance of the mean from the rounding interval of the published number, 0 inside it."""
    return max(abs(mean - printed.value) - half_unit(printed.decimals), Decimal(0))


def _side(mean: Decimal, printed: PublishedCell) -> str:
    return "higher" if mean > printed.value else "lower"


def _tolerance_in_words(tolerance: Tolerance) -> str:
    return f"the {tolerance.name} tolerance of {tolerance.half_width.normalize():f} ({tolerance.source})"


def _decimal(x: float) -> Decimal:
    if not isfinite(x):
        raise DataError(f"a measured value is {x!r}; what could not be computed must be absent")
    return Decimal(f"{x:.12g}")
