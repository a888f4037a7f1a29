"""Answers of a study to unspecified choices and claims: the difference of two rows in its primary column.
Published differences are in published.yaml, e.g. ``cells: [PAPER/1/ROW/COLUMN, …]``."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import fmean

from repro import errors, hooks
from repro.manifest import yaml_file
from repro.manifest.cells import Cell, cell, cells_of, table_of
from repro.manifest.papers import Paper, once_per_paper, paper
from repro.manifest.reading_schema import StudyPointer, study_pointer
from repro.manifest.schema import Column, Table
from repro.plugins.studies import contrasts, studies
from repro.retrieval.datasets.catalog import dataset
from repro.running.plan import plan
from repro.running.scale import Scale, known_scales
from repro.running.workspace import Workspace
from repro.store.results import Record
from repro.verdicts import compared, comparison

UNMEASURED = "no current measurement"
_ORDERS = ("above", "below")


@dataclass(frozen=True)
class Answer:
    """The difference between the two rows of a pointer at one scale, in points.

    Attributes:
        difference: that of the means over queries and common seeds.
        low, high: its 95 % interval. None with a single seed, or without scores of queries.
        verdict: that of the study's analysis, or "" without an interval.
        smallest_seen: the true difference that the study detects with a power of 80 %.
        as_stated: whether the rows are in the order that the text states. None if either is unknown.
    """

    scale: str
    column: str
    seeds: int
    difference: float
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    smallest_seen: float | None = None
    published: float | None = None
    as_stated: bool | None = None
    preliminary: str = ""
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        interval = "" if self.low is None else f" ({self.low:+.2f} to {self.high:+.2f})"
        verdict = self.verdict or self.untested
        verdict = f"{self.preliminary}: {verdict}" if self.preliminary else verdict
        order = {True: ", as in the text", False: ", contrary to the text", None: ""}
        words = f"{self.difference:+.2f}{interval} points of {self.column}, {self.counted}: {verdict}"
        doubts = f". In doubt: {', '.join(self.doubts)}" if self.doubts else ""
        return f"{self.scale}: {words}{order[self.as_stated]}{self.beside_published}{doubts}"

    @property
    def beside_published(self) -> str:
        x, side = self.published, self.verdict.removeprefix("slightly ")
        if x is None or self.low is None or self.high is None:
            return ""
        holds, holds_zero = (self.low <= value <= self.high for value in (x, 0.0))
        seen = self.smallest_seen or 0.0
        unseen = f" (this study detects {seen:.1f} points with a power of 80 %)" * (abs(x) < seen)
        place = ", inside the interval with 0" * holds_zero if holds else ", outside the interval"
        return f". The paper's difference: {x:+.1f}{unseen * (side not in _ORDERS)}{place}"

    @property
    def counted(self) -> str:
        return f"{self.seeds} seed{'' if self.seeds == 1 else 's'}"

    @property
    def untested(self) -> str:
        return "not tested" if self.seeds == 1 else "not tested without the scores of queries"


def answers(pointers: Iterable[str], evidence: Workspace) -> dict[str, list[Answer]]:
    """Return pointer -> an answer for each scale at which both rows are measured.

    ``evidence`` may also be the sources of a report. Raises UsageError for an unknown row.
    """
    by_pointer: dict[str, list[Answer]] = {text: [] for text in pointers}
    by_table = defaultdict[tuple[str, str], dict[str, StudyPointer]](dict)
    for text in by_pointer:
        pointer = study_pointer(text)
        check_pointer(pointer)
        by_table[pointer.study, pointer.table][text] = pointer
    for (study, table), group in by_table.items():
        source = paper(study)
        for text, answer in _table_answers(source, table_of(source, table), group, evidence):
            by_pointer[text].append(answer)
    return by_pointer


def check_pointer(pointer: StudyPointer) -> None:
    """Raise UsageError unless both rows are in the table of a study."""
    table = table_of(paper(pointer.study), pointer.table)
    rows = [row.id for row in table.rows] if table.kind == "study" else []
    errors.check_known(f"row of the study {pointer.study}/{table.id}", pointer.row, pointer.other, valid=rows)


def tested_answer(
    study: studies.Study, pointer: StudyPointer, column: Column, *, scale: str
) -> Answer | None:
    """Return the answer with an interval and a verdict, or None if the study has no such test."""
    contrast = study.contrast(pointer.row, pointer.other, column.id)
    if contrast is None or contrast.difference is None:
        return None
    turn = 1 if contrast.row == pointer.row else -1
    difference, verdict = contrast.difference, study.verdict(pointer.row, pointer.other, column.id)
    effects, seen = published_effects(paper(pointer.study)), contrast.smallest_seen
    low, high = sorted(100 * turn * end for end in difference.interval())
    side = verdict.removeprefix("slightly ")
    is_ordered = side in _ORDERS and pointer.stated in _ORDERS
    return Answer(
        scale,
        column.label,
        difference.seeds,
        100 * turn * difference.mean,
        low=low,
        high=high,
        verdict=replace(contrast, verdict=verdict).verdict_in_words,
        smallest_seen=None if seen is None else 100 * seen,
        published=effects.get((pointer.table, pointer.row, pointer.other)),
        as_stated=side == pointer.stated if is_ordered else None,
        preliminary=study.preliminary,
    )


def of_means(
    ours: Mapping[int | None, float],
    theirs: Mapping[int | None, float],
    column: Column,
    *,
    unit: str,
    scale: str,
) -> Answer | None:
    """Return an answer without an interval from the rows' means by seed, or None without common seeds."""
    if not (common_seeds := ours.keys() & theirs.keys()):
        return None
    points = 1 if unit == "percent" else 100
    difference = points * fmean(ours[seed] - theirs[seed] for seed in common_seeds)
    return Answer(scale, column.label, len(common_seeds), difference)


def primary_column(source: Paper, table: Table) -> Column:
    primary = contrasts.analysis_of(source).of(table).primary
    return next((c for c in table.columns if c.id == primary), table.columns[0])


def answers_by_pointer(pointers: Iterable[str], evidence: Workspace) -> dict[str, hooks.StudyAnswer]:
    return {
        text: hooks.StudyAnswer("\n".join(map(str, made)) or UNMEASURED, list(map(asdict, made)))
        for text, made in answers(pointers, evidence).items()
    }


def _table_answers(
    source: Paper, table: Table, pointers: Mapping[str, StudyPointer], evidence: Workspace
) -> Iterator[tuple[str, Answer]]:
    column = primary_column(source, table)
    for name in sorted(evidence.results.scales("records") & known_scales().keys()):
        scale, prefix = known_scales()[name], f"{source.name}/{table.id}/"
        if dataset(scale.dataset(column.dataset or "")).source == "embedded":
            continue
        records = [r for r in evidence.results.read(name, source.name) if r.cell.startswith(prefix)]
        recorded = {r.cell for r in records}
        measured = {text: p for text, p in pointers.items() if f"{prefix}{p.row}/{column.id}" in recorded}
        if measured:
            yield from _scale_answers(scale, records, cells_of(source, (table,)), measured, evidence)


def _scale_answers(
    scale: Scale,
    records: list[Record],
    cells: list[Cell],
    pointers: Mapping[str, StudyPointer],
    evidence: Workspace,
) -> Iterator[tuple[str, Answer]]:
    column = primary_column(cells[0].paper, cells[0].table)
    cells = [c for c in cells if c.column.id == column.id]  # columns are tested separately
    make = partial(_judged, scale, records, cells, evidence)
    _, study, by_row = evidence.machine.once(("study", *map(id, records)), make)  # with the kept records
    for text, pointer in pointers.items():
        if pointer.row in by_row and pointer.other in by_row:
            pair = by_row[pointer.row], by_row[pointer.other]
            if answer := _of_pair(pair, study, pointer, column, scale.name):
                yield text, answer


def _judged(
    scale: Scale, records: list[Record], cells: list[Cell], evidence: Workspace
) -> tuple[list[Record], studies.Study, dict[str, compared.ComparedCell]]:
    source, table = cells[0].paper, cells[0].table
    seeds = tuple(sorted({r.seed for r in records if r.seed is not None}))
    study_plan = plan(cells, scale=scale, machine=evidence.machine, seeds=seeds)
    study_plan.look(evidence.store)
    compared_cells = comparison.compare(study_plan, evidence.results, store=evidence.store).cells
    files = studies.scores_paths(evidence.results, scale.name, source.name, table.id)
    scores = studies.known_scores(study_plan, studies.StudyEvidence(evidence.store, files))
    study = studies.judged(table, contrasts.analysis_of(source), scores)
    return records, study, {c.cell.row.id: c for c in compared_cells if not c.outdated}


def _of_pair(
    pair: tuple[compared.ComparedCell, compared.ComparedCell],
    study: studies.Study,
    pointer: StudyPointer,
    column: Column,
    scale: str,
) -> Answer | None:
    ours, theirs = ({r.seed: r.measured for r in c.records} for c in pair)
    means = of_means(ours, theirs, column, unit=study.table.unit, scale=scale)
    answer = means and (tested_answer(study, pointer, column, scale=scale) or means)
    doubts = dict.fromkeys(doubt.kind for c in pair for doubt in c.doubts)
    return answer and replace(answer, doubts=tuple(doubts))


FILE = "published.yaml"


class PublishedPair(yaml_file.StrictMapping):
    table: str
    row: str
    other: str
    cells: tuple[str, str]

    @property
    def difference(self) -> float:
        ours, theirs = (cell(name).percent for name in self.cells)
        return float(ours - theirs)


@once_per_paper
def published_effects(source: Paper) -> dict[tuple[str, str, str], float]:
    """Return (table, row, other row) -> the published difference, for both orders of the rows."""
    path = source.folder / FILE

    def faults(pairs: tuple[PublishedPair, ...]) -> Iterator[yaml_file.Fault]:
        for number, pair in enumerate(pairs):
            try:
                rows = [row.id for row in table_of(source, pair.table).rows]
                errors.check_known(f"row of {source.name}/{pair.table}", pair.row, pair.other, valid=rows)
                _ = [cell(name) for name in pair.cells]
            except errors.UsageError as error:
                yield (number,), str(error)

    pairs = yaml_file.read(path, tuple[PublishedPair, ...], faults=faults) if path.exists() else ()
    effects = {(pair.table, pair.row, pair.other): pair.difference for pair in pairs}
    return {(table, other, row): -x for (table, row, other), x in effects.items()} | effects
