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

from repro.manifest.printed import Printed
from repro.store.results import Record

CONFIDENCE = 0.95
# Number of queries -> Student's quantile at (1 + CONFIDENCE) / 2 with one degree of freedom less, for the
# collections that papers are measured on. Importing scipy takes longer than judging all cells.
QUANTILES = {
    20: 2.0930240544083087,
    36: 2.030107928250343,
    40: 2.022690920036761,
    43: 2.0180817028184443,
    45: 2.0153675744437636,
    48: 2.0117405137297655,
    49: 2.010634757624232,
    50: 2.0095752371292392,
    54: 2.0057459953178687,
    60: 2.000995378088267,
    67: 1.9965644189523117,
    72: 1.9939433678456255,
    80: 1.9904502102301285,
    150: 1.976013177689192,
    225: 1.9706109611023637,
    300: 1.9679296690656698,
    323: 1.96735858532268,
    400: 1.965927295920882,
    648: 1.963637307231939,
    852: 1.9627555138546289,
    1000: 1.9623414611334493,
    1406: 1.961653864555302,
    3452: 1.9606516371982454,
    3610: 1.960621522223283,
    6515: 1.9603282314832284,
    6666: 1.9603199777536326,
    6980: 1.960303958133713,
    7405: 1.9602844400356776,
    10000: 1.960201263621357,
}


@dataclass(frozen=True)
class QueryInterval:
    """The 95 % interval of a mean over queries by Student's t, in the unit of the published number.

    Attributes:
        queries: how many the mean is taken over.
    """

    low: float
    high: float
    queries: int

    def holds(self, printed: Printed) -> bool | None:
        """Whether a number that rounds to the published one lies inside; None for dash, words and bound."""
        if printed.value is None or printed.bound:
            return None
        half_unit = 10.0**-printed.decimals / 2
        return self.low <= float(printed.value) + half_unit and float(printed.value) - half_unit <= self.high


def query_interval(records: Sequence[Record]) -> QueryInterval | None:
    """The interval of the mean of one cell's records, one per seed; None where they say too little.

    Of several seeds the deviation is the mean of theirs, which no mean over seeds can exceed: the interval is
    then a little too wide. None for an average of several collections.
    """
    deviations = [r.deviation for r in records]
    if not records or None in deviations or records[0].queries < 2:
        return None
    queries, mean = records[0].queries, fmean(r.measured for r in records)
    half = _quantile(queries) * fmean(deviations) / sqrt(queries)
    return QueryInterval(mean - half, mean + half, queries)


def _quantile(queries: int) -> float:
    """Student's t that the mean of so many queries leaves with (1 + CONFIDENCE) / 2 below it."""
    if queries in QUANTILES:
        return QUANTILES[queries]
    from scipy.special import stdtrit

    return float(stdtrit(queries - 1, (1 + CONFIDENCE) / 2))
