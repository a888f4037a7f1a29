"""Tolerances for floats on any CPU.

The sum of n terms is off by about √n ε m, m being the most that it came to (Higham, Accuracy and Stability of
Numerical Algorithms, 4.2). So a tolerance is a share of the largest element, or of ``summands`` where terms
cancel. Published or random numbers state their own tolerance, with ``pytest.approx``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

SPACING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
TERMS = 4096  # of the longest sums of these tests, layer after layer
nearest: dict[str, float] = {}  # the largest share of a tolerance, by the test


def close(actual: Any, expected: Any, *, summands: float = 0.0, terms: int = TERMS, dtype: str = "float64"):
    """Fail where two results differ by more than roundings.

    ``summands``: the magnitude of the terms, where it is above that of ``expected``. ``terms``: how many
    roundings follow one another. ``dtype``: the coarsest format on the way.
    """
    share, where = _share(actual, expected, summands, terms, dtype)
    assert share <= 1, f"{where}, {share:.3g} times what roundings make of them"
    note(share)


def note(share: float) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    nearest[test] = max(share, nearest.get(test, 0.0))


def apart(actual: Any, expected: Any, *, summands: float = 0.0, terms: int = TERMS, dtype: str = "float64"):
    """Fail unless two results differ by a hundred times what roundings make of them, or more."""
    share, _ = _share(actual, expected, summands, terms, dtype)
    assert share >= 100, f"they differ by {share:.3g} times what roundings make of them"


def _share(actual: Any, expected: Any, summands: float, terms: int, dtype: str) -> tuple[float, str]:
    pairs = {"": (actual, expected)}
    if hasattr(actual, "detach") and hasattr(expected, "detach"):
        assert actual.dtype == expected.dtype, f"a tensor of {actual.dtype} is none of {expected.dtype}"
    if isinstance(expected, Mapping):
        assert actual.keys() == expected.keys() and expected, f"{set(actual) ^ set(expected)} are in one only"
        pairs = {f"{name}: ": (actual[name], value) for name, value in expected.items()}
    arrays = {name: (_array(one), _array(other)) for name, (one, other) in pairs.items()}
    magnitude = max([summands, *(_magnitude(other) for _, other in arrays.values())])
    worst = (0.0, "equal")
    for name, (one, other) in arrays.items():
        assert one.shape == other.shape, f"{name}{one.shape} is no {other.shape}"
        spacing = max(SPACING[dtype], *(SPACING.get(_format(value), 0.0) for value in pairs[name]))
        tolerance = terms**0.5 * spacing * magnitude
        with np.errstate(invalid="ignore"):
            error = np.where(one == other, 0.0, np.nan_to_num(abs(one - other), nan=np.inf, posinf=np.inf))
        if error.any():
            at = np.unravel_index(error.argmax(), error.shape)
            share = float(error[at] / tolerance) if tolerance else np.inf
            told = f"{name}{list(map(int, at))} is {float(one[at])!r} and not {float(other[at])!r}"
            worst = max(worst, (share, told))
    return worst


def _array(value: Any) -> np.ndarray:
    return value.detach().double().numpy() if hasattr(value, "detach") else np.asarray(value, dtype=float)


def _magnitude(value: np.ndarray) -> float:
    return float(abs(value[np.isfinite(value)]).max(initial=0.0))


def _format(value: Any) -> str:
    return str(getattr(value, "dtype", "")).rpartition(".")[2]
