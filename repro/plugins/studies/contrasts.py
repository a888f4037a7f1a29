"""The comparisons of a study: pairs of rows in each column, over queries and seeds, and their verdicts. For
example, a row that leads another by 1.2 points (p = 0.3) is "not told apart" from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from repro.plugins.studies.analysis_schema import Family, TableAnalysis
from repro.retrieval.evaluation.crossed import Estimate, estimate, seeds_needed, smallest_seen
from repro.retrieval.evaluation.p_values import holm

POINT = 0.01  # the unit of `matters` in an analysis, as a fraction
WITHIN = "within what matters"
VERDICTS = (
    "above",
    "slightly above",
    "slightly below",
    "below",
    WITHIN,
    "not told apart",
    "at the floor",
    "not tested",
)
OfSeeds = Mapping[int | None, Mapping[str, float]]  # seed -> query -> score of one cell


@dataclass(frozen=True)
class Contrast:
    """The difference between a row and another one in a column.

    Attributes:
        family: its id. The p-values of a family and column are corrected together.
        difference: the mean over queries and common seeds, as a fraction. None for too few or constant
            values.
        matters: the smallest difference that matters, as a fraction, or None.
        level: the level divided by the number of comparisons of the family, the limit for the smallest p.
        holm: the corrected p of the difference. Planned pairs without a test count as p = 1.
        within: the corrected p of a difference of at least ``matters``, by two one-sided tests.
        verdict: one of ``VERDICTS``, for ``row`` compared with ``against``.
    """

    family: str
    column: str
    row: str
    against: str
    difference: Estimate | None
    matters: float | None = None
    level: float = 0.05
    holm: float | None = None
    within: float | None = None
    verdict: str = "not tested"

    @property
    def verdict_in_words(self) -> str:
        """The verdict with its margin, e.g. "within ±2 points"."""
        if self.verdict != WITHIN or self.matters is None:
            return self.verdict
        return f"within ±{self.matters / POINT:g} points"

    @cached_property
    def smallest_seen(self) -> float | None:
        """The true difference, as a fraction, that this design detects with a power of 80 % at ``level``."""
        if self.difference is None:
            return None
        d = self.difference
        return smallest_seen(d.variances, queries=d.queries, seeds=d.seeds, level=self.level)

    @cached_property
    def seeds_needed(self) -> int | None:
        """The fewest seeds that detect the smallest relevant difference with a power of 80 %, or None."""
        if self.difference is None or self.matters is None:
            return None
        d = self.difference
        return seeds_needed(self.matters, d.variances, queries=d.queries, level=self.level)


def contrasts(
    analysis: TableAnalysis, columns: Mapping[str, Mapping[str, OfSeeds]], *, level: float
) -> Iterator[Contrast]:
    """Yield every measured pair of every family. ``columns`` maps column -> row -> scores."""
    for family in analysis.families:
        for column, rows in columns.items():
            pairs = list(_pairs(family, column, rows, analysis.matters.get(column), level))
            standings = floor_standings(analysis, rows, level=level)
            differs = _corrected([c.difference.p if c.difference else None for c in pairs], len(family.pairs))
            within = _corrected([_p_of_no_less(c) for c in pairs], len(family.pairs))
            for c, p, q in zip(pairs, differs, within, strict=True):
                tested = replace(c, holm=p, within=q)
                yield replace(tested, verdict=_verdict(tested, level, standings, analysis.floor))


def difference(ours: OfSeeds, theirs: OfSeeds) -> Estimate | None:
    """Return the mean difference of two rows over their common queries and seeds. None means too few queries
    or seeds, or constant differences."""
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return None
    queries = sorted(ours[seeds[0]])
    result = estimate([[ours[seed][q] - theirs[seed][q] for seed in seeds] for q in queries])
    return result if result and result.error else None


def floor_standings(analysis: TableAnalysis, rows: Mapping[str, OfSeeds], *, level: float) -> dict[str, str]:
    """Return row -> ``above``, ``below``, ``not above`` or ``not tested``, against the row ``floor``."""
    if analysis.floor is None:
        return {}
    compared_rows = [row for row in rows if row in analysis.rows - {analysis.floor}]
    floor = rows.get(analysis.floor, {})
    return {row: _standing(difference(rows[row], floor), level) for row in compared_rows}


def _standing(lead: Estimate | None, level: float) -> str:
    if lead is None:
        return "not tested"
    return "not above" if lead.p > level else "above" if lead.mean > 0 else "below"


def _p_of_no_less(c: Contrast) -> float | None:
    """Return the larger p of the two one-sided tests of a relevant difference (Schuirmann 1987)."""
    from scipy.special import stdtr

    if c.difference is None or c.matters is None:
        return None
    room = c.matters - abs(c.difference.mean)
    return float(stdtr(c.difference.freedom, -room / c.difference.error))


def _corrected(p_values: Sequence[float | None], planned_count: int) -> list[float | None]:
    tested_count = sum(p is not None for p in p_values)
    return holm([*p_values, *[1.0] * (planned_count - tested_count)])[: len(p_values)]


def _pairs(
    family: Family, column: str, rows: Mapping[str, OfSeeds], points: float | None, level: float
) -> Iterator[Contrast]:
    matters = None if points is None else points * POINT
    for row, against in family.pairs:
        if row in rows and against in rows:
            effect = difference(rows[row], rows[against])
            yield Contrast(family.id, column, row, against, effect, matters, level / len(family.pairs))


def _verdict(c: Contrast, level: float, standings: Mapping[str, str], floor: str | None) -> str:
    """Return one of ``VERDICTS`` by the corrected p (``holm``, ``within``) and the floor. The better row must
    be above the floor according to ``standings``."""
    if c.difference is None or c.holm is None:
        return "not tested"
    if standings and floor not in (c.row, c.against):
        better = standings[c.row if c.difference.mean > 0 else c.against]
        if better != "above":
            return "not tested" if better == "not tested" else "at the floor"
    is_negligible = c.within is not None and c.within <= level
    if c.holm <= level:
        return ("slightly " if is_negligible else "") + ("above" if c.difference.mean > 0 else "below")
    return WITHIN if is_negligible else "not told apart"
