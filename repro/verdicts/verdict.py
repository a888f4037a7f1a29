"""Verdicts, doubts and tolerances, and their arithmetic.

Arithmetic is decimal with twelve significant digits: 66.45 is a tie, 66.4500000000000028 would not be.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from math import isfinite
from pathlib import Path

from repro.errors import DataError, check_known
from repro.graph import Node, walk
from repro.machine.bounded_reading import read_facts
from repro.manifest.printed import PublishedCell, half_unit, rounded
from repro.retrieval.evaluation.measures import families
from repro.stage_table import TRAININGS

PASSES = frozenset({"exact", "consistent", "within tolerance"})
FAILS = frozenset({"lower", "higher", "failed"})
NEITHER = frozenset({"inconclusive", "uninformative", "not comparable", "scaled", "blocked", "not run"})
CONFIDENCE = 0.9  # an equivalence test at the 5 % level
OPERATORS = {"<": Decimal.__lt__, ">": Decimal.__gt__, "≤": Decimal.__le__, "≥": Decimal.__ge__}


@dataclass(frozen=True)
class Verdict:
    """A verdict with its reason. All numbers are in the paper's unit.

    Attributes:
        name: one of PASSES, FAILS, NEITHER.
        why: the rule applied and its source, without full stop.
        half_width: half the interval of the difference, or the tolerance of a class without seeds.
        discrimination: how many other rows of the column would pass too, and how many there are.
    """

    name: str
    why: str
    mean: float | None = None
    difference: float | None = None
    half_width: float | None = None
    discrimination: tuple[int, int] | None = None

    def __post_init__(self):
        assert self.name in PASSES | FAILS | NEITHER, self.name


@dataclass(frozen=True)
class Doubt:
    """A reason why a new measurement might differ, e.g. of kind "outdated"."""

    kind: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}"


@dataclass(frozen=True)
class CodeCounts:
    """The number of artefacts of other or unknown code, if known."""

    other_code: int | None = None
    unknown_code: int | None = None


def equal_after_rounding(mean: Decimal, printed: PublishedCell) -> bool:
    """Return whether ``mean``, rounded half up or half to even, equals the printed number."""
    return printed.value in rounded(mean, printed.decimals)


def prediction_half_width(values: Sequence[Decimal]) -> Decimal:
    """Return t · s · √(1 + 1/k). A further seed is closer to the mean of k values in 95 of 100 cases."""
    k = len(values)
    from repro.retrieval.evaluation.p_values import quantile

    return Decimal(repr(quantile(k - 1))) * statistics.stdev(values) * (1 + Decimal(1) / k).sqrt()


def gap(mean: Decimal, printed: PublishedCell) -> Decimal:
    """Return the distance of the mean from the interval of numbers that round to the published one."""
    return max(abs(mean - printed.number) - half_unit(printed.decimals), Decimal(0))


def exact_decimal(x: float) -> Decimal:
    """Return a number to twelve digits. Raises DataError if it is not finite."""
    if not isfinite(x):
        raise DataError(f"a measured value is {x!r}, but a value that cannot be computed must be absent")
    return Decimal(f"{x:.12g}")


UNITS = {"fraction": Decimal(1), "percent": Decimal(100)}
DEFAULT = "retrained"


@dataclass(frozen=True)
class Tolerance:
    """The accepted distance from the published value, in the paper's unit.

    ``name`` is the class. ``seed_sd`` is the assumed standard deviation over seeds, with ``freedom`` degrees
    of freedom.
    """

    name: str
    half_width: Decimal
    source: str
    seed_sd: Decimal = Decimal(0)
    freedom: int = 0


def tolerance(
    name: str | None, measure: str | None, unit: str, *, published: Decimal | None = None
) -> Tolerance | None:
    """Return the tolerance of class ``name`` (None: retrained) for a measure like ``R(rel=2)@1000``.

    It may be narrower near the maximum, and None for other units or measures. Raises UsageError for an
    unknown class.
    """
    name = name or DEFAULT
    classes = _classes()
    check_known("tolerance class", name, valid=classes)
    family = families().get((measure or "").partition("@")[0].partition("(")[0])
    entry = classes[name].get(family.tolerance) if family else None
    if entry is None or unit not in UNITS:
        return None
    width = Decimal(entry["half_width"]) * UNITS[unit]
    if published is not None and "of_miss" in entry:
        width = min(width, Decimal(entry["of_miss"]) * (UNITS[unit] - published))
    sd = Decimal(entry.get("seed_sd", 0)) * width / Decimal(entry["half_width"])
    return Tolerance(name, width, entry["source"], sd, entry.get("freedom", 0))


def implied_class(nodes: Iterable[Node]) -> str:
    """Return a graph's tolerance class, e.g. "retrained" for a training."""
    stages = {node.stage for node in walk(nodes)}
    if not stages.isdisjoint(TRAININGS):
        return "retrained"
    return "re-encoded" if stages & {"backbone", "released"} else "deterministic"


@cache
def _classes() -> dict[str, dict[str | None, dict]]:
    classes: dict[str, dict[str | None, dict]] = {}
    for entry in read_facts(Path(__file__).with_name("tolerances.yaml")):
        classes.setdefault(entry["class"], {}).update(dict.fromkeys(entry["kinds"], entry))
    return classes


@dataclass(frozen=True)
class Case:
    """The facts behind a verdict on a cell. Numbers are in the paper's unit.

    ``values`` are our means, one per seed. ``rivals`` are the published numbers of the other rows of the
    column.
    """

    printed: PublishedCell
    values: Sequence[Decimal] = ()
    scale: str = "full"
    changed: bool = False
    tolerance: Tolerance | None = None
    failure: str = ""
    obstacle: str = ""
    idle: str = "nothing has been measured"
    rivals: Sequence[PublishedCell] = ()

    @cached_property
    def mean(self) -> Decimal:
        return sum(self.values, Decimal(0)) / len(self.values)

    @cached_property
    def half_width(self) -> Decimal:
        """Half the interval of the difference: t · √(s² (1 + 1/k) + u²/12), or 0 without a seed deviation.

        k is the number of seeds and u the last published digit. The seeds' variance s² is pooled with the
        assumed one.
        """
        t, k = self.tolerance, len(self.values)
        if not t or not t.seed_sd:
            return Decimal(0)
        from repro.retrieval.evaluation.p_values import quantile

        squares = sum(((value - self.mean) ** 2 for value in self.values), Decimal(0))
        freedom = t.freedom + k - 1
        variance = (t.freedom * t.seed_sd**2 + squares) / freedom * (1 + Decimal(1) / k)
        unit = 2 * half_unit(self.printed.decimals)
        return Decimal(repr(quantile(freedom, CONFIDENCE))) * (variance + unit**2 / 12).sqrt()

    @property
    def distance(self) -> Decimal:
        """The distance from the published number or, without a seed deviation, from its rounding interval."""
        return abs(self.mean - self.printed.number) if self.half_width else gap(self.mean, self.printed)

    @property
    def is_inside(self) -> bool:
        t = self.tolerance
        return t is not None and self.distance + self.half_width <= t.half_width

    @property
    def is_outside(self) -> bool:
        t = self.tolerance
        return t is not None and self.distance - self.half_width > t.half_width

    @property
    def shown_width(self) -> Decimal | None:
        """The half width of the interval or, without one, of the tolerance."""
        return (self.half_width or self.tolerance.half_width) if self.tolerance else None

    @property
    def interval(self) -> str:
        difference, k = f"the difference of {self.mean - self.printed.number:+.4g}", len(self.values)
        seeds = f"{k} seed{'s' * (k > 1)}"
        return f"{difference} ± {self.half_width:.2g} ({seeds}, 90 %)" if self.half_width else difference

    @property
    def tolerance_in_words(self) -> str:
        t = self.tolerance
        return f"the {t.name} tolerance of {t.half_width.normalize():f} ({t.source})" if t else ""

    @property
    def decimals(self) -> str:
        return f"{self.printed.decimals} decimal{'s' * (self.printed.decimals != 1)}"

    @property
    def is_bounded(self) -> bool:
        return self.printed.bound in OPERATORS

    @property
    def obeys_bound(self) -> bool:
        return OPERATORS[self.printed.bound](self.mean, self.printed.number)
