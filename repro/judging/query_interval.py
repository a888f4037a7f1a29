"""The interval over queries of a measured mean: how far it would move with other queries of their kind.

Published and measured means are over the same queries, so that what the queries contribute is largely common
to both, and neither holds how much another training of the same system would differ. A published mean outside
of the interval is therefore strong evidence of another system; one inside proves no equality, the less the
fewer queries there are (43 leave about ±.08 of nDCG@10).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from repro.judging.student import quantile
from repro.judging.tolerance import UNITS
from repro.manifest.printed import PublishedCell
from repro.store.results import Record

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
