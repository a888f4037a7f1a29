"""Kendall's tau between the orders of methods at two sizes, with an interval over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from random import Random
from typing import TYPE_CHECKING

from repro.judging.size_trends import Run, Seed, Size

if TYPE_CHECKING:
    import numpy as np

Scores = Mapping[str, Mapping[Seed, float]]  # method -> seed -> score
ALL_DRAWS = 4096  # up to so many are gone through, else so many are drawn
FEWEST_SEEDS = 3  # of an interval
PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class Order:
    """The agreement of the orders at two sizes.

    Attributes:
        tau: Kendall's tau-b of the means over seeds. None where the scores of one size are all alike.
        bounds: of its 95 % interval, the bootstrap's over seeds, which few seeds make too narrow; None
            below three.
        methods, seeds: how many were ranked, and drawn from.
    """

    smaller: Size
    larger: Size
    tau: float | None
    methods: int
    seeds: int
    bounds: tuple[float, float] | None = None


def orders(runs: Sequence[Run]) -> list[Order]:
    """The agreement of every pair of sizes, over the methods and seeds that both have."""
    sizes = sorted({run.size for run in runs})
    return [_order(runs, one, other) for one, other in combinations(sizes, 2)]


def _order(runs: Sequence[Run], smaller: Size, larger: Size) -> Order:
    one, other = _scores(runs, smaller), _scores(runs, larger)
    methods = [method for method in one if method in other]
    seeds = [seed for seed in _seeds(one, methods) if seed in _seeds(other, methods)]
    tau = _tau(one, other, methods, seeds) if len(methods) > 1 and seeds else None
    value, bounds = tau or (None, None)
    return Order(smaller, larger, value, len(methods), len(seeds), bounds)


def _scores(runs: Sequence[Run], size: Size) -> dict[str, dict[Seed, float]]:
    scores: dict[str, dict[Seed, float]] = {}
    for run in runs:
        if run.size == size:
            scores.setdefault(run.method, {})[run.seed] = run.score
    return scores


def _seeds(scores: Scores, methods: Sequence[str]) -> list[Seed]:
    """The seeds of the first of the methods that all of them have."""
    return [
        seed for method in methods[:1] for seed in scores[method] if all(seed in scores[m] for m in methods)
    ]


def _tau(
    one: Scores, other: Scores, methods: Sequence[str], seeds: Sequence[Seed]
) -> tuple[float, tuple[float, float] | None] | None:
    """The tau of the means over seeds and the bounds of its interval."""
    import numpy as np

    draws = np.array([range(len(seeds)), *_draws(len(seeds))])  # (1 + D, S): the seeds themselves, then draws
    scores = [np.array([[size[m][seed] for m in methods] for seed in seeds]) for size in (one, other)]
    taus = tau_b(*(array[draws].mean(axis=1) for array in scores))  # (1 + D,)
    if np.isnan(taus[0]):
        return None
    if len(seeds) < FEWEST_SEEDS:
        return float(taus[0]), None
    low, high = np.nanpercentile(taus[1:], PERCENTILES)
    return float(taus[0]), (float(low), float(high))


def tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of the rows of two arrays, (D, M) -> (D,); NaN where a row is all alike."""
    import numpy as np

    pairs = np.triu_indices(one.shape[1], k=1)
    signs = [np.sign(rows[:, pairs[0]] - rows[:, pairs[1]]) for rows in (one, other)]  # (D, M (M - 1) / 2)
    untied_counts = [np.count_nonzero(sign, axis=1) for sign in signs]
    with np.errstate(invalid="ignore"):
        return (signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied_counts[0] * untied_counts[1])


def _draws(count: int) -> list[tuple[int, ...]]:
    """Every draw of as many with replacement, or where these are too many, some drawn by seed 0."""
    if count**count <= ALL_DRAWS:
        return list(product(range(count), repeat=count))
    random = Random(0)
    return [tuple(random.choices(range(count), k=count)) for _ in range(ALL_DRAWS)]
