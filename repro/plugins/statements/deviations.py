"""The standard deviation that a mark of significance requires, and the smallest known one of public runs.

By a paired t-test on n queries, a lead has p <= level only if the standard deviation of the n differences is
at most lead * sqrt(n) / t. For example, a lead of 0.01 on 400 queries (t = 1.966) needs at most 0.102.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated

from pydantic import Field

from repro.manifest import papers as at_hand
from repro.manifest import yaml_file
from repro.manifest.cells import Cell
from repro.manifest.yaml_file import StrictMapping
from repro.plugins.statements.language import level_of
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.evaluation import p_values

FILE = "deviations.yaml"
# By chance, two equal deviations over 43 queries differ by this factor once in 100,000 times.
MARGIN = 0.5  # of the smallest known deviation


class PublicRun(StrictMapping):
    file: str
    sha256: str
    source: str


class Deviation(StrictMapping):
    """The standard deviation over queries (n - 1) of the difference between two runs."""

    dataset: str
    measure: str
    runs: tuple[str, str]
    lead: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    sd: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Stead(StrictMapping):
    """A dataset without two public runs, and the dataset ``by`` whose deviations replace it."""

    dataset: str
    measure: str
    by: str
    why: str


class Deviations(StrictMapping):
    runs: dict[str, PublicRun]
    known: tuple[Deviation, ...]
    instead: tuple[Stead, ...] = ()


@dataclass(frozen=True)
class Need:
    """The deviation that the significance of a row's lead over another row needs. Numbers are fractions.

    Attributes:
        over: the other row. Of several, the one that needs the smallest deviation.
        lead: the largest lead that the printed numbers allow.
        sd: the largest standard deviation over queries with p <= level.
        greatest: the largest deviation of two systems with these means.
        is_certain: whether even ``greatest`` and the smallest possible lead have p <= level.
        known: the smallest deviation of two public runs. ``instead`` says why it is of another dataset.
    """

    over: Cell
    lead: float
    queries: int
    level: float
    sd: float
    greatest: float
    is_certain: bool
    known: Deviation | None
    instead: str = ""

    @property
    def is_implausible(self) -> bool:
        return self.known is not None and self.sd < MARGIN * self.known.sd

    @property
    def verdict(self) -> str:
        """``certain``, ``implausible``, ``plausible`` or ``undecided``."""
        if self.is_certain:
            return "certain"
        if self.is_implausible:
            return "implausible"
        return "plausible" if self.known and self.sd >= self.known.sd else "undecided"

    @property
    def known_in_words(self) -> str:
        return f"{self.known.sd:.3f}{' (another set)' * bool(self.instead)}" if self.known else "none"

    @property
    def in_words(self) -> str:
        return f"means only, needs a deviation of {self.sd:.3f}, known {self.known_in_words}"

    def as_json(self) -> dict:
        return {
            "over": self.over.id,
            "lead": round(self.lead, 6),
            "queries": self.queries,
            "level": self.level,
            "needed": round(self.sd, 6),
            "greatest": round(self.greatest, 6),
            "known": self.known.model_dump(mode="json") if self.known else None,
            "instead": self.instead,
            "verdict": self.verdict,
        }


def need(cell: Cell, rivals: list[Cell]) -> Need | None:
    """Return the strictest need for the lead of a cell over its rivals to be significant.

    Returns None without a lead, if a number is missing, or for fewer than two queries.
    """
    topics = catalog().get(cell.column.dataset or "")
    queries = topics.counts.get("queries", 0) if topics else 0
    if queries < 2 or not rivals or not all(c.is_numeric for c in (cell, *rivals)):
        return None
    needs = [_need_over(cell, rival, queries) for rival in rivals]
    least = min(needs, key=lambda each: each.sd)
    return replace(least, is_certain=all(each.is_certain for each in needs)) if least.sd > 0 else None


def _need_over(cell: Cell, over: Cell, queries: int) -> Need:
    mine, theirs = (float(c.percent) / 100 for c in (cell, over))
    rounding = sum(float(c.rounding) / 100 for c in (cell, over))
    lead, both = mine - theirs, mine + theirs
    greatest = sqrt((min(1, both, 2 - both) + rounding) * queries / (queries - 1))
    level = level_of(cell.table)
    free = queries - 1
    per_lead = sqrt(queries) / p_values.quantile(free, 1 - level)
    is_certain = (lead - rounding) * per_lead >= greatest
    most, known = lead + rounding, smallest_known(cell.column.dataset, cell.column.measure)
    return Need(over, most, queries, level, most * per_lead, greatest, is_certain, *known)


def smallest_known(dataset: str | None, measure: str | None) -> tuple[Deviation | None, str]:
    """Return the smallest known deviation of public runs, if any, and why it is of another dataset, or ""."""
    known, stands = deviations()
    pairs = [pair for pair in known if (pair.dataset, pair.measure) == (dataset, measure)]
    if pairs:
        return min(pairs, key=lambda pair: pair.sd), ""
    for stead in stands:
        if (stead.dataset, stead.measure) == (dataset, measure):
            return smallest_known(stead.by, measure)[0], stead.why
    return None, ""


@at_hand.kept_with_papers
def deviations() -> tuple[tuple[Deviation, ...], tuple[Stead, ...]]:
    contents = [yaml_file.read(folder / FILE, Deviations) for folder in at_hand.folders_with(FILE)]
    return tuple(d for c in contents for d in c.known), tuple(s for c in contents for s in c.instead)
