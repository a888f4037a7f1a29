"""A study's table with measurements of several seeds, compared as its analysis plans.

The file ``scores/SCALE/PAPER-tableN.json.gz`` replaces an absent store. It has scores and training costs by
fingerprint.
"""

import contextlib
import gzip
import json
import statistics
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from repro import errors, graph, hooks, stage_table
from repro.manifest.cells import Cell
from repro.manifest.papers import Paper
from repro.manifest.schema import Table
from repro.plugins.studies import contrasts as comparisons
from repro.plugins.studies.contrasts import Analysis, Confirmatory, Contrast, OfSeeds, TableAnalysis
from repro.retrieval.evaluation.crossed import Estimate, estimate
from repro.running.plan import Plan
from repro.store import Store, disk, seal, translated_errors
from repro.store.results import FOLDER, Record, Results
from repro.verdicts import compared, summary
from repro.verdicts.training_costs import Cost, costs, row_hours, total_hours, untrained_rows

FACTS = ("flops", "resumed_at", "seconds", "steps")


class StudyEvidence:
    """Reads scores of evaluations and costs of trainings from the store, or else from score files."""

    def __init__(self, store: Store, files: tuple[Path, ...] = ()):
        self._store, self._files = store, files
        self._records: dict[str, dict[str, Any]] = {}

    @cached_property
    def kept(self) -> Mapping[str, Mapping[str, Any]]:
        """``evaluations`` and ``trainings``: the contents of the score files by fingerprint. Later files
        replace entries of earlier ones. Raises DataError."""
        contents: dict[str, dict[str, Any]] = {"evaluations": {}, "trainings": {}}
        for path in self._files:
            if path.exists():
                for kind, content in _read(path, path.stat().st_mtime_ns).items():
                    contents[kind] |= content
        return contents

    def state(self, node: graph.Node) -> str:
        """Return ``stored`` if a file contains the stage, otherwise its state in the store."""
        parts = self.kept["trainings"], self.kept["evaluations"]
        return "stored" if any(node.fingerprint in part for part in parts) else self._store.state(node)

    def record(self, node: graph.Node) -> dict[str, Any]:
        """Return a training's record from the store, or one with the costs in a score file."""
        name = node.fingerprint
        if name not in self._records:
            is_stored = self._store.state(node) == "stored"
            kept = None if is_stored else {"facts": self.kept["trainings"][name]}
            self._records[name] = kept or self._store.record(node)
        return self._records[name]

    def scores(self, node: graph.Node) -> dict[str, Any] | None:
        """Return an evaluation's ``queries``, and ``measures`` with their scores by measure, or None."""
        if self._store.state(node) == "stored":
            with contextlib.suppress(errors.StoreError):  # damaged scores
                return seal.read_json(self._store.path(node) / "scores.json")
        return self.kept["evaluations"].get(node.fingerprint)


def scores_paths(results: Results, scale: str, paper: str, table: str) -> tuple[Path, ...]:
    """Return the paths of a table's score files: a release's if there is one, then the writable one."""
    return tuple(folder / "scores" / scale / f"{paper}-table{table}.json.gz" for folder in results.folders)


class StudyOfCell(hooks.CellPart):
    """Adds the command that makes a study's table from its score file."""

    def __init__(self, cell: Cell, stands: Sequence[compared.ComparedCell], results: Results):
        self._cell, self._stands, self._results = cell, stands, results

    def commands(self) -> dict[str, str]:
        cell, commands = self._cell, {}
        for stand in self._stands:
            paths = scores_paths(self._results, stand.scale, cell.paper.name, cell.table.id)
            if any(path.is_file() for path in paths):
                seeds = ",".join(str(r.seed) for r in stand.records)
                command = f"repro tables {cell.paper.name} --table {cell.table.id} --scale {stand.scale}"
                commands["from scores"] = f"{command} --seeds {seeds}"
        return commands


def write_scores(plan: Plan, store: Store, results: Results, *, paper: str, table: str) -> Path | None:
    """Add scores and costs to a table's score file, under a lock. Return its path, or None without scores."""
    paths = scores_paths(results, plan.scale.name, paper, table)
    table_plan = plan.of_table(paper, table)
    if not _evaluations(table_plan, StudyEvidence(store, paths)):
        return None
    with translated_errors(results.root, *FOLDER):
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        with disk.file_lock(paths[-1].with_suffix(".lock")):
            evidence = StudyEvidence(store, paths)  # read again inside the lock
            additions = {
                "evaluations": _evaluations(table_plan, evidence),
                "trainings": _trainings(table_plan, evidence),
            }
            content = {kind: {**evidence.kept[kind], **entries} for kind, entries in additions.items()}
            data = gzip.compress(json.dumps(content, sort_keys=True).encode(), mtime=0)
            disk.write_whole(paths[-1], data)
    return paths[-1]


def _evaluations(plan: Plan, evidence: StudyEvidence) -> dict[str, dict[str, Any]]:
    parts = {part.fingerprint: part for m in plan.measurements for part in m.parts}
    known = {name: scores for name, part in parts.items() if (scores := evidence.scores(part))}
    return {name: {key: scores[key] for key in ("queries", "measures")} for name, scores in known.items()}


def _trainings(plan: Plan, evidence: StudyEvidence) -> dict[str, dict[str, Any]]:
    nodes = graph.walk(part for m in plan.measurements for part in m.parts)
    trainings = [
        node for node in nodes if node.stage in stage_table.TRAININGS and evidence.state(node) == "stored"
    ]
    facts = {n.fingerprint: evidence.record(n)["facts"] for n in trainings}
    return {name: {key: known[key] for key in FACTS if key in known} for name, known in facts.items()}


@lru_cache(maxsize=32)
def _read(path: Path, changed: int) -> dict[str, dict[str, Any]]:
    try:
        content = from_json(gzip.decompress(path.read_bytes()))
        return {kind: dict(content[kind]) for kind in ("evaluations", "trainings")}
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        remedy = "Remove it, and `repro tables` writes it again from the store."
        raise errors.DataError(f"{path} is malformed ({type(error).__name__}). {remedy}") from None


Scores = Mapping[str, Mapping[str, OfSeeds]]  # column -> row -> seed -> query -> score
_SIDES = {"above": "below", "below": "above"}
_REVERSED_VERDICTS = _SIDES | {f"slightly {side}": f"slightly {other}" for side, other in _SIDES.items()}


@dataclass(frozen=True)
class Entry:
    """The means of a row in a column by seed. ``estimate`` is None for fewer than two queries or seeds."""

    seeds: Mapping[int | None, float]
    estimate: Estimate | None = None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seeds.values())

    @property
    def half_width(self) -> float | None:
        return None if self.estimate is None else self.estimate.half_width()


@dataclass(frozen=True)
class Study:
    """A table with its measurements.

    Attributes:
        entries: (row, column) -> its measurements.
        standing: column -> row -> its relation to the row ``floor``, e.g. "not above".
        hours: trained row -> hours of all its trainings (mean over seeds).
    """

    table: Table
    analysis: TableAnalysis
    entries: Mapping[tuple[str, str], Entry]
    contrasts: Sequence[Contrast] = ()
    standing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    hours: Mapping[str, float] = field(default_factory=dict)
    total_hours: float | None = None
    untrained: Sequence[str] = ()
    commits: Sequence[str] = ()
    doubts: str = ""
    plan: Analysis = field(default_factory=Analysis)

    def is_confirmatory(self, family: str, column: str) -> bool:
        return self.plan.confirmatory == Confirmatory(table=self.table.id, family=family, column=column)

    @cached_property
    def preliminary(self) -> str:
        """The number of planned seeds that all rows have, e.g. "preliminary: 2 of 3 planned seeds", or ""."""
        planned, seeds = set(self.plan.seeds), [set(e.seeds) - {None} for e in self.entries.values()]
        common = planned.intersection(*filter(None, seeds)) if any(seeds) else set()
        if len(common) == len(planned) or not self.entries:
            return ""
        return f"preliminary: {len(common)} of {len(planned)} planned seeds"

    @cached_property
    def seeds_of_rows(self) -> dict[str, int]:
        """Row -> the smallest number of its seeds in any column. Omits rows without seeds."""
        counts: dict[str, int] = {}
        for (row, _), entry in self.entries.items():
            if None not in entry.seeds:
                counts[row] = min(len(entry.seeds), counts.get(row, len(entry.seeds)))
        return counts

    def of(self, family: str, column: str) -> list[Contrast]:
        return [c for c in self.contrasts if (c.family, c.column) == (family, column)]

    def contrast(self, row: str, against: str, column: str) -> Contrast | None:
        """Return the first comparison of two rows in either order, or None."""
        pair = {row, against}
        return next((c for c in self.contrasts if c.column == column and {c.row, c.against} == pair), None)

    def verdict(self, row: str, against: str, column: str) -> str:
        c = self.contrast(row, against, column)
        if c is None:
            return ""
        return c.verdict if c.row == row else _REVERSED_VERDICTS.get(c.verdict, c.verdict)

    def to_floor(self, column: str, standing: str) -> list[str]:
        return [row for row, place in self.standing.get(column, {}).items() if place == standing]

    def base(self, row: str) -> str | None:
        return next(self.table.base_of(r) for r in self.table.rows if r.id == row)

    @cached_property
    def seeds(self) -> list[int | None]:
        """The measured seeds of trained rows, or of all rows if none is trained."""
        trained = [entry for (row, _), entry in self.entries.items() if row not in self.untrained]
        return sorted({seed for e in trained or self.entries.values() for seed in e.seeds}, key=str)


def study_of(
    plan: Plan,
    store: Store,
    *,
    source: Paper,
    table: Table,
    cells: Iterable[compared.ComparedCell] = (),
    results: Results | None = None,
) -> Study:
    """Return a table's study. ``cells`` provide commits and doubts. Raises ManifestError, DataError."""
    table_plan = plan.of_table(source.name, table.id)
    cells = [c for c in cells if c.cell.table.id == table.id]
    files = scores_paths(results, plan.scale.name, source.name, table.id) if results else ()
    evidence = StudyEvidence(store, files)
    return judged(
        table,
        comparisons.analysis_of(source),
        known_scores(table_plan, evidence),
        costs=costs(table_plan, evidence),
        hours=row_hours(table_plan, evidence),
        total_hours=total_hours(table_plan, evidence),
        untrained=untrained_rows(table_plan),
        commits=_commits(table_plan, [r for c in cells for r in c.records]),
        doubts=summary.doubts_in_brief(cells, lead="in doubt"),
    )


def judged(table: Table, analysis: Analysis, scores: Scores, **facts) -> Study:
    """Return the study of scores. Rows with planned seeds lose all others. ``facts`` are further fields."""
    table_analysis, level = analysis.of(table), analysis.level
    columns = {
        c.id: {row: _planned(seeds, analysis) for row, seeds in scores[c.id].items()}
        for c in table.columns
        if c.id in scores
    }
    contrasts = tuple(comparisons.contrasts(table_analysis, columns, level=level))
    standings = {
        name: comparisons.floor_standings(table_analysis, rows, level=level) for name, rows in columns.items()
    }
    entries = {
        (row, column): _entry(seeds) for column, rows in columns.items() for row, seeds in rows.items()
    }
    return Study(table, table_analysis, entries, contrasts, standings, plan=analysis, **facts)


def _planned(seeds: OfSeeds, analysis: Analysis) -> OfSeeds:
    return {seed: of for seed, of in seeds.items() if seed in analysis.seeds} or seeds


def known_scores(plan: Plan, evidence: StudyEvidence) -> Scores:
    scores: dict[str, dict[str, dict[int | None, dict[str, float]]]] = {}
    for m in plan.measurements:
        content = evidence.scores(m.parts[0]) if len(m.parts) == 1 else None
        if content is not None:
            by_query = dict(zip(content["queries"], content["measures"][m.measure], strict=True))
            scores.setdefault(m.cell.column.id, {}).setdefault(m.cell.row.id, {})[m.seed] = by_query
    return scores


def _entry(seeds: OfSeeds) -> Entry:
    queries = sorted(next(iter(seeds.values())))
    means = {seed: statistics.fmean(scores.values()) for seed, scores in seeds.items()}
    return Entry(means, estimate([[scores[q] for scores in seeds.values()] for q in queries]))


def _commits(plan: Plan, records: Iterable[Record]) -> list[str]:
    identities = {(m.cell.id, *m.identity) for m in plan.measurements}
    matches = sorted((r for r in records if (r.cell, *r.identity) in identities), key=lambda r: r.recorded)
    return list(dict.fromkeys(c for r in matches if (c := r.environment.get("commit"))))
