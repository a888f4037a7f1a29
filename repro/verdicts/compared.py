"""Compared cells, e.g. of ``PAPER/1/ROW/COLUMN``: a published number, its measurements and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Any

from repro.graph import grouped
from repro.hooks import CellNote
from repro.manifest.cells import Cell, fields_as_html
from repro.manifest.printed import PublishedCell
from repro.manifest.reading_schema import Reading
from repro.retrieval.datasets.catalog import catalog, dataset, unpublished
from repro.running.requirements import Obstacle
from repro.store.results import Record
from repro.verdicts.verdict import UNITS, CodeCounts, Doubt, Verdict

if TYPE_CHECKING:
    from repro.running.provenance import Origins

PAIRS = (  # of significance.json, for a pair of rows
    *("difference", "interval", "effect_size", "p", "holm_student_p", "permutation_p"),
    *("holm_p", "wins", "ties", "losses"),
)


@dataclass(frozen=True)
class QueryInterval:
    """The 95 % interval of a mean over queries by Student's t.

    It omits the variance between trainings. A published mean outside is strong evidence of another system.
    """

    low: float
    high: float
    queries: int

    def holds(self, printed: PublishedCell) -> bool | None:
        """Return whether a number that rounds to the published one is inside. None for a dash or bound."""
        if printed.value is None or printed.bound:
            return None
        half_unit = 10.0**-printed.decimals / 2
        return self.low <= float(printed.value) + half_unit and float(printed.value) - half_unit <= self.high


def query_interval(records: Sequence[Record]) -> QueryInterval | None:
    """Return the interval of the mean of one cell's records, one per seed.

    Returns None for averages of collections, fewer than two queries, and equal scores.
    """
    deviations = [r.deviation for r in records if r.deviation is not None]
    if len(deviations) < len(records) or not any(deviations) or records[0].queries < 2:
        return None
    queries, mean = records[0].queries, fmean(r.measured for r in records)
    from repro.retrieval.evaluation.p_values import quantile

    half_width = quantile(queries - 1) * fmean(deviations) / sqrt(queries)
    greatest = float(UNITS[records[0].unit])
    return QueryInterval(max(0.0, mean - half_width), min(greatest, mean + half_width), queries)


@dataclass(frozen=True)
class ImportedRun:
    """A run by others of the cell's system, scored here."""

    record: Record
    verdict: Verdict
    doubts: tuple[Doubt, ...] = ()

    @property
    def measured(self) -> float:
        return self.record.measured

    @property
    def file(self) -> str:
        return str(self.record.origin.get("file", "without a name"))

    @property
    def maker(self) -> str:
        return str(self.record.origin.get("toolkit") or self.file)

    @property
    def settings(self) -> str:
        return str(self.record.origin.get("settings") or "")

    def as_json(self) -> dict:
        record = self.record
        return {
            "file": self.file,
            "toolkit": record.origin.get("toolkit"),
            "settings": record.origin.get("settings"),
            "measured": record.measured,
            "difference": self.verdict.difference,
            "verdict": self.verdict.name,
            "why": self.verdict.why,
            "discrimination": self.verdict.discrimination,
            "doubts": [asdict(doubt) for doubt in self.doubts],
            "queries": record.queries,
            "missing": record.missing,
            "readings": record.readings,
            "fingerprint": record.fingerprint,
            "origin": record.origin,
        }


@dataclass(frozen=True)
class ComparedCell:
    """One published cell with its measurements.

    Attributes:
        records: one per distinct measurement.
        collections: ids of its data at this scale.
        cut_at: documents that the run has per query, if the measure looks deeper.
        notes: values reported elsewhere, closest match first.
    """

    cell: Cell
    scale: str
    records: tuple[Record, ...]
    verdict: Verdict
    obstacles: tuple[Obstacle, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    code: CodeCounts = field(default_factory=CodeCounts)
    libraries_not_compared: tuple[str, ...] = ()
    imported: tuple[ImportedRun, ...] = ()
    collections: tuple[str, ...] = ()
    cut_at: int | None = None
    notes: tuple[CellNote, ...] = ()

    def _repr_html_(self) -> str:
        fields = {"id": self.cell.id, "published": self.cell.text, "measured": self.measured}
        verdict = {"verdict": self.verdict.name, "why": self.verdict.why}
        return fields_as_html(fields | verdict | {"doubts": [*map(str, self.doubts)]})

    @property
    def notes_at_full(self) -> tuple[CellNote, ...]:
        return self.notes if self.scale == "full" else ()

    @property
    def current(self) -> bool:
        return not self.doubts

    @property
    def outdated(self) -> str:
        """Why the records do not match the graph or manifest, or ""."""
        return self._why("outdated")

    @property
    def contradicted(self) -> str:
        """Why stored scores replace the record, or ""."""
        return self._why("contradicted")

    @property
    def doubts_shown(self) -> tuple[Doubt, ...]:
        return (*self.doubts, *(doubt for run in self.imported for doubt in run.doubts))

    def _why(self, kind: str) -> str:
        return next((doubt.why for doubt in self.doubts if doubt.kind == kind), "")

    @property
    def measured(self) -> float | None:
        """The mean over seeds in the paper's unit."""
        if not self.records:
            return None
        return sum(r.measured for r in self.records) / len(self.records)

    @property
    def published(self) -> float | None:
        return None if self.cell.printed.value is None else float(self.cell.printed.value)

    @property
    def measurement(self) -> tuple[frozenset[str], str] | None:
        """The evaluations' fingerprints and the measure, which cells may share."""
        if not self.records:
            return None
        return frozenset(r.fingerprint for r in self.records), self.records[0].measure

    @property
    def measured_on(self) -> tuple[str, ...]:
        """Ids of the recorded or planned data, e.g. "tiny/passage/dev"."""
        collections = tuple(self.records[0].collections) if self.records else ()
        return collections or self.collections

    @cached_property
    def stand_ins(self) -> tuple[str, ...]:
        """Ids of the data that replace the paper's."""
        if self.scale == "full":
            return ()
        column = self.cell.column
        parts = [c for c in self.cell.table.columns if c.id in column.mean_of] or [column]
        names = [c.dataset for c in parts if c.dataset in catalog()]
        originals = {*names, *chain.from_iterable(dataset(name).members for name in names)}
        return tuple(identifier for identifier in self.measured_on if identifier not in originals)

    @property
    def data_without_digest(self) -> list[str]:
        return list(dict.fromkeys(name for r in self.records for name in unpublished(r.rows)))

    @cached_property
    def interval(self) -> QueryInterval | None:
        return query_interval(self.records)

    @property
    def published_inside(self) -> bool | None:
        """Whether the published mean is inside the interval, if they are compared."""
        interval = self.interval if self.verdict.difference is not None else None
        return interval.holds(self.cell.printed) if interval else None


@dataclass(frozen=True)
class PairedTest:
    """A paired test over queries of our run against a run by others of the same system.

    Attributes:
        over: file of the other run.
        difference: ours minus theirs, with its 95 % bootstrap ``interval``, as fractions.
        effect_size: the difference divided by its standard deviation over queries.
        p: of a two-sided t-test. ``holm_p`` is Holm-corrected per table and measure.
        permutation_p: of a permutation test by sign flips.
    """

    over: str
    maker: str
    difference: float
    interval: tuple[float, float] | None
    effect_size: float | None
    p: float | None
    holm_p: float | None
    permutation_p: float | None
    wins: int
    ties: int
    losses: int


@dataclass
class Comparison:
    """The compared cells of a plan, with the tests between their rows.

    Attributes:
        tests: (paper, table, dataset) -> content of significance.json.
        untested: messages about tests that failed.
        readings: cell -> readings behind its number, by id.
        paired: cell -> tests of our run against runs by others.
        own_rows: rows that a user added.
        faults: sentences on damaged artefacts and records files.
    """

    cells: list[ComparedCell]
    tests: dict[tuple[str, str, str], dict] = field(default_factory=dict)
    untested: list[str] = field(default_factory=list)
    readings: dict[str, dict[str, Reading]] = field(default_factory=dict)
    paired: dict[str, tuple[PairedTest, ...]] = field(default_factory=dict)
    origins: Origins | None = None
    own_rows: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def of_papers(self) -> list[ComparedCell]:
        return [c for c in self.cells if c.cell.row.id not in self.own_rows]

    def counts(self) -> Counter:
        return Counter(c.verdict.name for c in self.cells)

    def by_table(self) -> dict[tuple[str, str], list[ComparedCell]]:
        return grouped(((c.cell.paper.name, c.cell.table.id), c) for c in self.cells)

    def betters(self, compared: ComparedCell) -> list[str]:
        """Return the ids of the rows that this row significantly outperforms."""
        test, max_p = self._test(compared)
        if not test:
            return []
        index = test["names"].index(compared.cell.row.id)
        return [
            name
            for other, name in enumerate(test["names"])
            if other != index
            and (p := _value(test, "holm_student_p", index, other)) is not None
            and p <= max_p
            and test["means"][index] > test["means"][other]
        ]

    def pairs(self, compared: ComparedCell) -> list[dict]:
        """Return a test against each other row with scores, as a mapping with keys ``over`` and ``PAIRS``."""
        test, _ = self._test(compared)
        if not test:
            return []
        index = test["names"].index(compared.cell.row.id)
        return [
            {"over": name} | {key: _value(test, key, index, other) for key in PAIRS}
            for other, name in enumerate(test["names"])
            if other != index
        ]

    def _test(self, compared: ComparedCell) -> tuple[dict, float]:
        cell = compared.cell
        tests = self.tests.get(test_key(cell), {})
        measure = compared.records[0].measure if compared.records else cell.column.measure
        test = tests.get("measures", {}).get(measure, {})
        has_part = cell.row.id in test.get("names", ()) and not compared.outdated
        return (test, tests["max_p"]) if has_part else ({}, 0.0)


def test_key(cell: Cell) -> tuple[str, str, str]:
    """Return the paper, table and dataset of a cell, whose rows are tested together."""
    return cell.paper.name, cell.table.id, cell.column.dataset or ""


UNDEFINED = {"p", "holm_student_p", "interval"}  # without variance over queries. Older artefacts have numbers


def _value(test: dict, key: str, index: int, other: int) -> Any:
    return None if key in UNDEFINED and test["effect_size"][index][other] is None else test[key][index][other]
