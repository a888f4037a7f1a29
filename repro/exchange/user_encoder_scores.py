"""A user's encoder in the columns of a published table: the suite's texts, search and scoring, no record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from repro.errors import UsageError, check_known
from repro.evaluation.run_depth import looks_deeper
from repro.graph import Node
from repro.judging.among_others import ValueAmongOthers, among_others
from repro.manifest.cells import Cell, cell_of, cells_of, table_of
from repro.manifest.papers import paper
from repro.progress import Progress
from repro.running.engines.inline import ensure
from repro.running.measurement import Measurement, MeasurementBuilder
from repro.running.records import measured_record
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.store import make_writable
from repro.store.results import Record

SEARCHES = ("search", "search_views")
PRIORITY = ("ours", "rerun", "cited", "reference")


@dataclass(frozen=True)
class ColumnScore:
    """The score of an encoder in one column of a table.

    Attributes:
        measure: what it was scored by; a reading may say another one than the column's.
        depth: passages that a search gave each query, the fewest of an average's members.
        cut: whether the measure, or a member's, looks deeper than that, as scales below full may have it.
        score: in the paper's unit.
        best: the best published cell of the column.
        among_others: the score among what others state of the row named, or of the best; None below full
            scale, where the measure is not the column's, and without reports.
    """

    id: str
    head: str
    dataset: str
    measure: str
    depth: int
    cut: bool
    score: float
    queries: int
    missing: int
    best: Cell
    among_others: ValueAmongOthers | None = None

    def as_json(self) -> dict:
        """One flat object, as ``--json`` prints it."""
        return {
            "column": self.id,
            "dataset": self.dataset,
            "measure": self.measure,
            "depth": self.depth,
            "cut": self.cut,
            "score": self.score,
            "queries": self.queries,
            "missing": self.missing,
            "unit": self.best.unit,
            "best_row": self.best.row.id,
            "best_printed": self.best.text,
            "among_others": self.among_others.as_json() if self.among_others else None,
        }

    def as_line(self) -> dict:
        """The object of ``as_json`` for a table, with a sentence in place of the object inside."""
        sentence = str(self.among_others) if self.among_others else None
        return self.as_json() | {"among_others": sentence}


def scores_on_table(
    ranking: Callable[..., Node],
    *,
    table: str,
    columns: Iterable[str],
    row: str | None,
    scale: Scale,
    workspace: Workspace,
    progress: Progress,
) -> tuple[list[ColumnScore], list[str]]:
    """The encoder's scores in a table's columns, and for each column left out a sentence why.

    Texts, depth, measures and the rules of scoring are those of the first retriever that the table itself
    runs in that column (the paper's own before others); lengths are capped by the scale as theirs are.

    Args:
        ranking: the encoder's, of the nodes of passages and of topics.
        columns: ids; none means all.
        row: id of the row among whose reports the scores are placed; None means the best published one.

    Raises:
        UsageError: no such table, column or row, or none that an encoder can be scored in.
        BlockedError: data or the checkpoint is missing.
        StageError: a stage failed; DataError where it refused its data.
    """
    cells, averages = _columns(table, tuple(columns))
    _check_row(table, row)
    builder = workspace.builder(scale)
    retrievers = {column: _retriever(group, builder) for column, group in cells.items()}
    measurements, notices = {}, []
    for column, retriever in retrievers.items():
        if retriever:
            measurements[column] = _measurement_like(retriever, ranking, builder)
        else:
            notices.append(f"column {column} is left out: no row of the table ranks texts in it")
    if not measurements:
        raise UsageError(f"{table}: {'; '.join(notices) or 'it has no column with a measure'}")
    store = workspace.store
    make_writable(store.root)
    parts = [part for m in measurements.values() for part in m.parts]
    scale.pin_kernels(progress)
    ensure(parts, store, progress, machine=workspace.machine).raise_first()
    scores = [
        _score(m, measured_record(m, scale.name, store), _best_cell(cells[name]))
        for name, m in measurements.items()
    ]
    scores += _averages(averages, scores)
    return _place_scores(scores, row) if scale.compares_with_paper else scores, notices


def _columns(table: str, names: tuple[str, ...]) -> tuple[dict[str, list[Cell]], list[list[Cell]]]:
    """The cells of a table ``paper/number``: by column those of a measure, and those of columns of averages.

    The columns that a named average is taken over come with it; no names mean all columns.
    """
    by_column = _cells_by_column(table)
    check_known(f"column of {table}", *names, valid=by_column)
    selection = {column: cells for column, cells in by_column.items() if column in (names or by_column)}
    averages = [cells for cells in selection.values() if cells[0].column.mean_of]
    needed_names = set(selection).union(*(cells[0].column.mean_of for cells in averages))
    columns = {name: cells[0].column for name, cells in by_column.items() if name in needed_names}
    return {n: by_column[n] for n, column in columns.items() if column.dataset and column.measure}, averages


def _cells_by_column(table: str) -> Mapping[str, list[Cell]]:
    name, slash, number = table.partition("/")
    if not slash:
        raise UsageError(f"--table takes PAPER/NUMBER here, not {table!r}")
    source = paper(name)
    by_column: dict[str, list[Cell]] = {}
    for cell in cells_of(source, (table_of(source, number),)):
        by_column.setdefault(cell.column.id, []).append(cell)
    return by_column


def _score(m: Measurement, record: Record, best: Cell) -> ColumnScore:
    column, counts = m.cell.column, (record.queries, record.missing)
    head, depth = column.label, min(run.params["depth"] for run in m.runs)
    measure = m.measure, depth, looks_deeper(m.measure, depth)
    return ColumnScore(column.id, head, column.dataset, *measure, record.measured, *counts, best)


def _check_row(table: str, row: str | None) -> None:
    if row is not None:
        cells = next(iter(_cells_by_column(table).values()))
        check_known(f"row of {table}", row, valid={cell.row.id: cell for cell in cells})


def _place_scores(scores: Sequence[ColumnScore], row: str | None) -> list[ColumnScore]:
    return [_place_score(score, row, scores) for score in scores]


def _place_score(score: ColumnScore, row: str | None, scores: Iterable[ColumnScore]) -> ColumnScore:
    """The score with its place among reports, where it is by the column's own measure, or averages such."""
    table, member_ids = score.best.table, score.best.column.mean_of or (score.id,)
    table_row = next((candidate for candidate in table.rows if candidate.id == row), score.best.row)
    cell = cell_of(score.best.paper, table, table_row.id, score.id)
    is_comparable = all(
        s.measure == s.best.column.measure and not s.cut for s in scores if s.id in member_ids
    )
    if not (is_comparable and cell.is_numeric):
        return score
    return replace(score, among_others=among_others(cell, Decimal(repr(score.score))))


def _averages(averages: list[list[Cell]], scores: list[ColumnScore]) -> list[ColumnScore]:
    """The columns that average others, where all of those were scored."""
    scores_by_column = {score.id: score for score in scores}
    average_scores = []
    for cells in averages:
        column = cells[0].column
        parts = [scores_by_column[member] for member in column.mean_of if member in scores_by_column]
        if len(parts) == len(column.mean_of):
            counts = sum(p.queries for p in parts), sum(p.missing for p in parts)
            head, mean = column.label, sum(part.score for part in parts) / len(parts)
            measure = "mean", min(part.depth for part in parts), any(part.cut for part in parts)
            average_scores.append(
                ColumnScore(column.id, head, "", *measure, mean, *counts, _best_cell(cells))
            )
    return average_scores


def _retriever(cells: list[Cell], builder: MeasurementBuilder) -> Measurement | None:
    """The table's measurement of a retriever in this column; None where it has none."""
    if cells[0].column.kind != "retrieval":
        return None
    rows = [cell for cell in cells if cell.recipe and cell.is_numeric]
    for cell in sorted(rows, key=lambda cell: PRIORITY.index(cell.role)):
        measurement = builder.measure(cell, None)
        if all(run.stage in SEARCHES for run in measurement.runs):
            return measurement
    return None


def _measurement_like(
    retriever: Measurement, ranking: Callable[..., Node], builder: MeasurementBuilder
) -> Measurement:
    """The retriever's evaluation of each dataset, with the encoder's run in place of the retriever's."""
    parts = {part.inputs["qrels"].fingerprint: part for part in retriever.parts}  # samples share a dataset
    cap, evaluations = builder.scale.facts.caps.get("length"), []
    for part in parts.values():
        run = part.inputs["run"]
        passages, topics = (run.inputs[side].inputs["texts"] for side in ("passages", "queries"))
        own_run = ranking(passages, topics, depth=run.params["depth"], cap=cap)
        evaluation = Node("evaluate", part.params, {**part.inputs, "run": own_run})
        evaluations.append(builder.machine.resolve(evaluation))
    return Measurement(retriever.cell, None, (tuple(evaluations),), retriever.measure, {}, {})


def _best_cell(cells: list[Cell]) -> Cell:
    return max((cell for cell in cells if cell.is_numeric), key=lambda cell: Decimal(cell.printed.value))
