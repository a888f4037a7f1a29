"""Holm's correction of several p-values; by itself, since judging without runs needs no more than this."""

import math
from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of one family of p-values; what is None stays so and does not count."""
    sorted_pairs = sorted(
        (p, place) for place, p in enumerate(p_values) if p is not None and not math.isnan(p)
    )
    corrections: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(sorted_pairs):
        largest = max(largest, min(1.0, (len(sorted_pairs) - rank) * p))
        corrections[place] = largest
    return corrections
