"""Comparisons of a study's rows over queries and seeds, with verdicts, e.g. "above"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from operator import itemgetter, sub
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from repro.errors import unknown
from repro.manifest import papers, yaml_file
from repro.manifest.schema import Manifest, Table
from repro.manifest.yaml_file import Fault, Identified, StrictMapping, repetitions
from repro.retrieval.evaluation.crossed import Estimate, estimate, seeds_needed, smallest_seen, special
from repro.retrieval.evaluation.p_values import holm

POINT = 0.01  # the unit of ``matters``
WITHIN = "within the margin"
UNDECIDED = "inconclusive"
OfSeeds = Mapping[int | None, Mapping[str, float]]  # seed -> query -> score
FILE = "analysis.yaml"


@dataclass(frozen=True)
class Contrast:
    """The difference between two rows in a column.

    Attributes:
        family: the id of its ``Family``.
        difference: the estimate as a fraction, like ``matters``. None if scores are too few or constant.
        level: the significance level divided by the number of the family's comparisons.
        holm: the Holm-corrected p. Planned pairs without a test count as p = 1.
        within: the corrected p of two one-sided tests against a difference of at least ``matters``.
        at_floor: whether the better row is not above the row ``floor``.
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
    at_floor: bool = False

    @property
    def verdict_in_words(self) -> str:
        """The verdict, e.g. "within ±2 points" or "above, at the floor"."""
        words = self.verdict
        if words == WITHIN and self.matters is not None:
            words = f"within ±{self.matters / POINT:g} points"
        return f"{words}, at the floor" if self.at_floor else words

    @cached_property
    def smallest_seen(self) -> float | None:
        """The true difference that is detected with a power of 80 % at ``level``."""
        d = self.difference
        if d is None:
            return None
        return smallest_seen(d.variances, queries=d.queries, seeds=d.seeds, level=self.level)

    @cached_property
    def seeds_needed(self) -> int | None:
        """The smallest number of seeds that detects ``matters`` with a power of 80 %."""
        d = self.difference
        if d is None or self.matters is None:
            return None
        return seeds_needed(self.matters, d.variances, queries=d.queries, level=self.level)


def contrasts(
    analysis: TableAnalysis, columns: Mapping[str, Mapping[str, OfSeeds]], *, level: float
) -> Iterator[Contrast]:
    """Yield the measured comparisons of each family with their verdicts."""
    of_columns = {name: floor_standings(analysis, rows, level=level) for name, rows in columns.items()}
    for family in analysis.families:
        for column, rows in columns.items():
            pairs = list(_pairs(family, column, rows, analysis.matters.get(column), level))
            differs = _corrected([c.difference.p if c.difference else None for c in pairs], len(family.pairs))
            within = _corrected([_p_of_no_less(c) for c in pairs], len(family.pairs))
            for c, p, q in zip(pairs, differs, within, strict=True):
                tested = replace(c, holm=p, within=q)
                standing = _standing_of_better(tested, of_columns[column], analysis.floor)
                verdict = "not tested" if standing == "not tested" else _verdict(tested, level)
                yield replace(tested, verdict=verdict, at_floor=standing in ("not above", "below"))


def difference(ours: OfSeeds, theirs: OfSeeds) -> Estimate | None:
    """Return the mean difference over common seeds, all with the same queries.

    None if there are fewer than two seeds or queries, or if all differences are equal.
    """
    seeds = [seed for seed in ours if seed in theirs]
    if not seeds:
        return None
    queries = sorted(ours[seeds[0]])
    if len(queries) < 2:
        return None
    scores = itemgetter(*queries)
    by_seed = (map(sub, scores(ours[seed]), scores(theirs[seed])) for seed in seeds)
    result = estimate(list(zip(*by_seed, strict=True)))
    return result if result and result.error else None


def floor_standings(analysis: TableAnalysis, rows: Mapping[str, OfSeeds], *, level: float) -> dict[str, str]:
    """Return row -> its relation to the row ``floor``, e.g. ``not above``, or {} without a floor."""
    if analysis.floor is None:
        return {}
    floor, compared = rows.get(analysis.floor, {}), analysis.rows - {analysis.floor}
    return {row: _standing(difference(rows[row], floor), level) for row in rows if row in compared}


def _standing(lead: Estimate | None, level: float) -> str:
    if lead is None:
        return "not tested"
    return "not above" if lead.p > level else "above" if lead.mean > 0 else "below"


def _p_of_no_less(c: Contrast) -> float | None:
    """Return the larger p of two one-sided tests (Schuirmann 1987)."""
    if c.difference is None or c.matters is None:
        return None
    room = c.matters - abs(c.difference.mean)
    return float(special().stdtr(c.difference.freedom, -room / c.difference.error))


def _corrected(p_values: Sequence[float | None], planned_count: int) -> list[float | None]:
    untested = planned_count - sum(p is not None for p in p_values)
    return holm([*p_values, *[1.0] * untested])[: len(p_values)]


def _pairs(
    family: Family, column: str, rows: Mapping[str, OfSeeds], points: float | None, level: float
) -> Iterator[Contrast]:
    matters = None if points is None else points * POINT
    for row, against in family.pairs:
        if row in rows and against in rows:
            effect = difference(rows[row], rows[against])
            yield Contrast(family.id, column, row, against, effect, matters, level / len(family.pairs))


def _standing_of_better(c: Contrast, standings: Mapping[str, str], floor: str | None) -> str:
    if c.difference is None or not standings or floor in (c.row, c.against):
        return ""
    return standings[c.row if c.difference.mean > 0 else c.against]


def _verdict(c: Contrast, level: float) -> str:
    if c.difference is None or c.holm is None:
        return "not tested"
    is_negligible = c.within is not None and c.within <= level
    if c.holm <= level:
        return ("slightly " if is_negligible else "") + ("above" if c.difference.mean > 0 else "below")
    return WITHIN if is_negligible else UNDECIDED


class Family(Identified):
    """Comparisons whose p-values are corrected together, in each column.

    Each of ``rows`` is compared with the row ``against``, or without it with every other one. ``between``
    lists pairs instead.
    """

    label: str
    rows: tuple[str, ...] = ()
    against: str | None = None
    between: tuple[tuple[str, str], ...] = ()

    @model_validator(mode="after")
    def _compares_different_rows(self):
        if bool(self.rows) == bool(self.between):
            raise ValueError("needs either `rows` or `between`")
        for row in (row for row, other in self.pairs if row == other):
            raise ValueError(f"row {row!r} would be compared with itself")
        if not self.pairs:
            raise ValueError("needs row `against`, or at least two rows")
        return self

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        if self.between:
            return self.between
        if self.against is None:
            return tuple(combinations(self.rows, 2))
        return tuple((row, self.against) for row in self.rows)


class TableAnalysis(StrictMapping):
    """The analysis of one table.

    Attributes:
        primary: the column of the main result.
        matters: column -> the smallest difference that matters, in points (hundredths).
        families: by default each row against the reference row of its group.
        floor: a weak row, e.g. with random weights. Pairs without a row significantly above it are marked.
    """

    table: str
    primary: str | None = None
    matters: dict[str, float] = Field(default_factory=dict)
    families: tuple[Family, ...] = ()
    floor: str | None = None

    @property
    def rows(self) -> set[str]:
        names = {row for family in self.families for pair in family.pairs for row in pair}
        return names | ({self.floor} if self.floor else set())


class Confirmatory(StrictMapping):
    table: str
    family: str
    column: str


class Analysis(StrictMapping):
    """The content of an analysis.yaml. ``seeds`` are used for pre-training and fine-tuning.
    Comparisons outside ``confirmatory`` are exploratory.
    """

    seeds: tuple[int, ...] = ()
    test: Literal["random effects of queries and seeds"] = "random effects of queries and seeds"
    correction: Literal["holm"] = "holm"
    level: float = Field(default=0.05, gt=0, lt=0.5)
    confirmatory: Confirmatory | None = None
    tables: tuple[TableAnalysis, ...] = ()

    def of(self, table: Table) -> TableAnalysis:
        match = next((item for item in self.tables if item.table == table.id), TableAnalysis(table=table.id))
        return match if match.families else match.model_copy(update={"families": tuple(_families(table))})


@papers.once_per_paper
def analysis_of(source: papers.Paper) -> Analysis:
    return read_analysis(source.folder, source.manifest)


def read_analysis(folder: Path, manifest: Manifest) -> Analysis:
    """Return the analysis.yaml of a folder, or an empty one. Raises ManifestError."""
    path = folder / FILE
    if not path.exists():
        return Analysis()
    return yaml_file.read(path, Analysis, faults=lambda content: _faults(content, manifest))


def _families(table: Table) -> Iterator[Family]:
    labels = {group.id: group.label for group in table.groups}
    for group in dict.fromkeys(row.group for row in table.rows):
        pairs = [(row.id, base) for row in table.rows if row.group == group and (base := table.base_of(row))]
        if pairs:
            label = labels.get(group or "", "each row against the row of reference")
            yield Family(id=group or "reference", label=label, between=tuple(pairs))


def _faults(analysis: Analysis, manifest: Manifest) -> Iterator[Fault]:
    if len(set(analysis.seeds)) < 2:
        yield ("seeds",), "needs at least two different seeds, to estimate their variance"
    studies = {table.id: table for table in manifest.tables if table.kind == "study"}
    for number, item in enumerate(analysis.tables):
        place = ("tables", number)
        if item.table in studies:
            yield from _table_faults(item, studies[item.table], place)
        else:
            yield (*place, "table"), str(unknown("study of the paper", item.table, studies))
    if claim := analysis.confirmatory:
        yield from _claim_faults(claim, analysis, studies)


def _claim_faults(claim: Confirmatory, analysis: Analysis, studies: Mapping[str, Table]) -> Iterator[Fault]:
    analysed = [item.table for item in analysis.tables if item.table in studies]
    if claim.table in analysed:
        families = [family.id for family in analysis.of(studies[claim.table]).families]
        yield from _absent("family", claim.family, families, ("confirmatory", "family"))
        columns = [c.id for c in studies[claim.table].columns]
        yield from _absent("column", claim.column, columns, ("confirmatory", "column"))
    else:
        yield ("confirmatory", "table"), str(unknown("analysed table", claim.table, analysed))


def _absent(kind: str, name: str, valid: Sequence[str], place: tuple) -> Iterator[Fault]:
    if name not in valid:
        yield place, str(unknown(f"{kind} of the table", name, valid))


def _table_faults(item: TableAnalysis, table: Table, place: tuple) -> Iterator[Fault]:
    columns, rows = [c.id for c in table.columns], [row.id for row in table.rows]
    yield from _absent("column", item.primary or columns[0], columns, (*place, "primary"))
    for column, points in item.matters.items():
        yield from _absent("column", column, columns, (*place, "matters"))
        if points <= 0:
            yield (*place, "matters", column), f"{points:g} is not above 0"
    for row in sorted(item.rows):
        yield from _absent("row", row, rows, place)
    yield from repetitions("family", item.families, (*place, "families"))
