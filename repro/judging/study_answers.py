"""The answers of a study to readings and claims: two of its rows compared, at its size, on equal terms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import fmean

from repro.datasets.catalog import dataset
from repro.errors import check_known
from repro.judging.compared import ComparedCell
from repro.judging.comparison import judged_cells
from repro.judging.studies import Study, study_of
from repro.manifest.cells import Cell, cells_of, table_of
from repro.manifest.papers import Paper, paper
from repro.manifest.schema import Column, Table
from repro.manifest.study_pointers import StudyPointer, study_pointer
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import Scale, known_scales
from repro.running.workspace import Workspace
from repro.store import Store
from repro.store.results import Results

UNMEASURED = "not measured yet"
_ORDERS = ("above", "below")


@dataclass(frozen=True)
class Answer:
    """The difference of a pointer's two rows at one scale, in the column that decides.

    Attributes:
        difference: of the means over queries and common seeds, in points of 100.
        low, high: the 95 % interval of it; None over one seed, and where neither the store nor a file
            of scores has those of queries.
        verdict: as the study's analysis has it; empty where there is no interval.
        as_stated: whether the order is that of the text; None where nothing is told apart or stated.
        preliminary: that planned seeds are missing, if they are.
    """

    scale: str
    column: str
    seeds: int
    difference: float
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    as_stated: bool | None = None
    preliminary: str = ""

    def __str__(self) -> str:
        interval = "" if self.low is None else f" ({self.low:+.2f} to {self.high:+.2f})"
        verdict = self.verdict or self.untested
        verdict = f"{self.preliminary}: {verdict}" if self.preliminary else verdict
        order = {True: ", as the text has it", False: ", the other way round in the text", None: ""}
        words = f"{self.difference:+.2f}{interval} points of {self.column}, {self.counted}: {verdict}"
        return f"{self.scale}: {words}{order[self.as_stated]}"

    @property
    def counted(self) -> str:
        """The number of seeds in words."""
        return f"{self.seeds} seed{'' if self.seeds == 1 else 's'}"

    @property
    def untested(self) -> str:
        """Why there is no verdict, where there is none."""
        return "not tested" if self.seeds == 1 else "not tested without the scores of queries"


@dataclass(frozen=True)
class StudyRecords:
    """The records, artefacts and machine that answers come from."""

    results: Results
    store: Store
    machine: Machine


def answers_in(workspace: Workspace, pointers: Iterable[str]) -> dict[str, list[Answer]]:
    """The ``answers`` of a workspace."""
    return answers(pointers, StudyRecords(workspace.results, workspace.store, workspace.machine))


def answers(pointers: Iterable[str], measured: StudyRecords) -> dict[str, list[Answer]]:
    """Pointer -> an answer for every scale at which both of its rows were measured; none of what is outdated.

    Scales on the embedded collection, which shows that all runs and nothing else, are left out. Nothing is
    run. Raises UsageError for a row that there is not.
    """
    made: dict[str, list[Answer]] = {text: [] for text in pointers}
    wanted = {text: study_pointer(text) for text in made}
    for pointer in wanted.values():
        check_pointer(pointer)
    of_tables = sorted(wanted.items(), key=lambda item: (item[1].study, item[1].table))
    for (study, table), group in groupby(of_tables, key=lambda item: (item[1].study, item[1].table)):
        source = paper(study)
        for text, answer in _of_table(source, table_of(source, table), dict(group), measured):
            made[text].append(answer)
    return made


def pointers_of(source: Paper) -> list[str]:
    """Every pointer of a paper's readings and claims."""
    return [text for stated in (*source.readings.values(), *source.claims.values()) for text in stated.study]


def check_pointer(pointer: StudyPointer) -> None:
    """Raise UsageError unless both of its rows are in a study's table."""
    table = table_of(paper(pointer.study), pointer.table)
    rows = [row.id for row in table.rows if table.kind == "study"]
    check_known(f"row of the study {pointer.study}/{table.id}", pointer.row, pointer.other, valid=rows)


def tested_answer(study: Study, pointer: StudyPointer, column: Column, *, scale: str) -> Answer | None:
    """The answer to a pointer with its interval and verdict; None where the study does not test it."""
    contrast = study.contrast(pointer.row, pointer.other, column.id)
    if contrast is None or contrast.difference is None:
        return None
    turn = 1 if contrast.row == pointer.row else -1
    found, verdict = contrast.difference, study.verdict(pointer.row, pointer.other, column.id)
    low, high = sorted(100 * turn * end for end in found.interval())
    side = verdict.removeprefix("slightly ")
    told_apart = side in _ORDERS and pointer.stated in _ORDERS
    facts = {"low": low, "high": high, "verdict": verdict, "preliminary": study.preliminary}
    facts["as_stated"] = side == pointer.stated if told_apart else None
    return Answer(scale, column.label, found.seeds, 100 * turn * found.mean, **facts)


def of_means(
    ours: Mapping[int | None, float],
    theirs: Mapping[int | None, float],
    column: Column,
    *,
    unit: str,
    scale: str,
) -> Answer | None:
    """The answer by what records hold, seed by seed, without an interval; None if they share no seed."""
    if not (common := ours.keys() & theirs.keys()):
        return None
    points = 1 if unit == "percent" else 100
    difference = points * fmean(ours[seed] - theirs[seed] for seed in common)
    return Answer(scale, column.label, len(common), difference)


def primary_column(source: Paper, table: Table) -> Column:
    """The primary column of the analysis, else the first."""
    primary = source.analysis.of(table).primary
    return next((c for c in table.columns if c.id == primary), table.columns[0])


def answers_in_words(answered: Sequence[Answer]) -> str:
    """The answers to a pointer in words, a line a scale."""
    return "\n".join(map(str, answered)) or UNMEASURED


def as_json(answered: Mapping[str, Sequence[Answer]], pointers: Iterable[str]) -> list[dict]:
    """An object for every pointer, with the answers to it."""
    return [{"comparison": text, "measured": [asdict(a) for a in answered[text]]} for text in pointers]


def _of_table(
    source: Paper, table: Table, wanted: Mapping[str, StudyPointer], measured: StudyRecords
) -> Iterator[tuple[str, Answer]]:
    column = primary_column(source, table)
    for name in sorted(measured.results.scales("records") & known_scales().keys()):
        scale = known_scales()[name]
        if dataset(scale.dataset(column.dataset)).source == "embedded":
            continue
        prefix, end = f"{source.name}/{table.id}/", f"/{column.id}"
        own = [r for r in measured.results.read(name, source.name) if r.cell.startswith(prefix)]
        recorded = {r.cell.removeprefix(prefix).removesuffix(end) for r in own if r.cell.endswith(end)}
        asked = {text: p for text, p in wanted.items() if p.row in recorded}
        if asked:
            seeds = tuple(sorted({r.seed for r in own if r.seed is not None}))
            yield from _at(scale, seeds, cells_of(source, [table]), asked, measured)


def _at(
    scale: Scale,
    seeds: tuple[int, ...],
    cells: list[Cell],
    asked: Mapping[str, StudyPointer],
    measured: StudyRecords,
) -> Iterator[tuple[str, Answer]]:
    """Each pointer with its answer at one scale: tested where scores of queries are at hand, else by means.

    The means are over the seeds that both rows have; without one there is no answer.
    """
    source, table = cells[0].paper, cells[0].table
    planned = plan(cells, scale=scale, machine=measured.machine, seeds=seeds)
    compared = judged_cells(planned, measured.results, measured.store).cells
    column = primary_column(source, table)
    study = study_of(planned, measured.store, source=source, table=table, results=measured.results)
    recorded = {c.cell.row.id: _by_seed(c) for c in compared if c.cell.column.id == column.id and c.current}
    for text, pointer in asked.items():
        ours, theirs = recorded.get(pointer.row, {}), recorded.get(pointer.other, {})
        means = of_means(ours, theirs, column, unit=table.unit, scale=scale.name)
        if means is not None:
            yield text, tested_answer(study, pointer, column, scale=scale.name) or means


def _by_seed(c: ComparedCell) -> dict[int | None, float]:
    return {record.seed: record.measured for record in c.records}
