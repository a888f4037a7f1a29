"""Anybody's encoder on the columns of a printed table: the suite's texts, search and scoring, no record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from repro.errors import UsageError, unknown
from repro.exchange.encoder_weights import Weights
from repro.graph import Node
from repro.manifest.cells import Cell, cells_of, table_of
from repro.manifest.papers import paper
from repro.nn.encoder_conventions import Conventions
from repro.progress import Progress
from repro.recipe.released import ranked
from repro.running.engines.inline import ensure
from repro.running.measurement import Builder, Measurement
from repro.running.records import measured
from repro.running.requirements import Machine
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.store import make_writable
from repro.store.results import Record

SEARCHES = ("search", "search_views")
PRIORITY = ("ours", "rerun", "cited")


@dataclass(frozen=True)
class Column:
    """What an encoder reached in one column of a table.

    Attributes:
        measure: what it was scored by; a reading may say another one than the column's.
        score: in print's unit.
        best: the best printed cell of the column.
    """

    id: str
    head: str
    dataset: str
    measure: str
    score: float
    queries: int
    missing: int
    best: Cell

    def as_json(self) -> dict:
        """One flat object, as ``--json`` prints it."""
        return {
            "column": self.id,
            "dataset": self.dataset,
            "measure": self.measure,
            "score": self.score,
            "queries": self.queries,
            "missing": self.missing,
            "unit": self.best.unit,
            "best_row": self.best.row.id,
            "best_printed": self.best.text,
        }


def on_table(
    models: tuple[Weights, Weights],
    conventions: Conventions,
    *,
    table: str,
    columns: Iterable[str],
    scale: Scale,
    workspace: Workspace,
    progress: Progress,
) -> tuple[list[Column], list[str]]:
    """The encoder's scores in a table's columns, and for each column left out a sentence why.

    Texts, depth, measures and the rules of scoring are those of the first retriever that the table itself
    runs in that column (the paper's own before others); lengths are capped by the scale as theirs are.

    Args:
        models: of passages and of queries, which may be one and the same.
        columns: ids; none means all.

    Raises:
        UsageError: no such table or column, or none that an encoder can be scored in.
        BlockedError: data or the checkpoint is missing.
        StageError: a stage failed; DataError where it refused its data.
    """
    chosen, averages = _columns(table, tuple(columns))
    machine, builder = workspace.machine, workspace.builder(scale)
    likes = {column: _retriever(cells, builder) for column, cells in chosen.items()}
    left_out = [
        f"column {column} is left out: no row of the table ranks texts in it"
        for column, like in likes.items()
        if like is None
    ]
    found = [
        (chosen[column], _measured_like(like, models, conventions, scale, machine))
        for column, like in likes.items()
        if like is not None
    ]
    if not found:
        raise UsageError(f"{table}: {'; '.join(left_out) or 'it has no column with a measure'}")
    store = workspace.store
    make_writable(store.root)
    parts = [part for _, m in found for part in m.parts]
    ensure(parts, store, progress, machine=machine).raise_first()
    scored = [_scored(m, measured(m, scale.name, store), _best(cells)) for cells, m in found]
    return scored + _averaged(averages, scored), left_out


def _columns(table: str, wanted: tuple[str, ...]) -> tuple[dict[str, list[Cell]], list[list[Cell]]]:
    """The cells of a table ``paper/number`` by column: of those that measure something, and of averages."""
    name, slash, number = table.partition("/")
    if not slash:
        raise UsageError(f"--table takes PAPER/NUMBER here, not {table!r}")
    source = paper(name)
    by_column: dict[str, list[Cell]] = {}
    for cell in cells_of(source, (table_of(source, number),)):
        by_column.setdefault(cell.column.id, []).append(cell)
    for column in wanted:
        if column not in by_column:
            raise unknown(f"column of {table}", column, by_column)
    averages = [
        cells
        for column, cells in by_column.items()
        if cells[0].column.mean_of and column in (wanted or by_column)
    ]
    wanted += tuple(member for cells in averages for member in cells[0].column.mean_of if wanted)
    measuring = {
        column: cells
        for column, cells in by_column.items()
        if cells[0].column.dataset and cells[0].column.measure and column in (wanted or by_column)
    }
    return measuring, averages


def _scored(m: Measurement, record: Record, best: Cell) -> Column:
    column = m.cell.column
    return Column(
        column.id,
        " ".join(column.head),
        column.dataset,
        m.measure,
        record.measured,
        record.queries,
        record.missing,
        best,
    )


def _averaged(averages: list[list[Cell]], scored: list[Column]) -> list[Column]:
    """The columns that average others, where all of those were scored."""
    known = {column.id: column for column in scored}
    found = []
    for cells in averages:
        column = cells[0].column
        parts = [known[member] for member in column.mean_of if member in known]
        if len(parts) == len(column.mean_of):
            queries, missing = (sum(getattr(p, name) for p in parts) for name in ("queries", "missing"))
            mean = sum(part.score for part in parts) / len(parts)
            head = " ".join(column.head)
            found.append(Column(column.id, head, "", "mean", mean, queries, missing, _best(cells)))
    return found


def _retriever(cells: list[Cell], builder: Builder) -> Measurement | None:
    """How the table measures a retriever in this column; None where it has none."""
    if cells[0].column.kind != "retrieval":
        return None
    rows = [cell for cell in cells if cell.recipe and cell.is_numeric]
    for cell in sorted(rows, key=lambda cell: PRIORITY.index(cell.role)):
        made = builder.measure(cell, None)
        if all(run.stage in SEARCHES for run in made.runs):
            return made
    return None


def _measured_like(
    like: Measurement, models, conventions: Conventions, scale: Scale, machine: Machine
) -> Measurement:
    """The same evaluation of each dataset, of this encoder's run instead."""
    parts = {part.inputs["qrels"].fingerprint: part for part in like.parts}  # samples share a dataset
    cap = scale.facts.caps.get("length", max(conventions.passage_length, conventions.query_length))
    within = conventions.but(
        {name: min(getattr(conventions, name), cap) for name in ("query_length", "passage_length")}
    )
    checkpoints = tuple(model.node(conventions) for model in models)
    evaluations = []
    for part in parts.values():
        run = part.inputs["run"]
        passages, topics = (run.inputs[side].inputs["texts"] for side in ("passages", "queries"))
        own = ranked(passages, topics, models=checkpoints, conventions=within, depth=run.params["depth"])
        evaluations.append(machine.resolve(Node("evaluate", part.params, {**part.inputs, "run": own})))
    return Measurement(like.cell, None, (tuple(evaluations),), like.measure, {}, {})


def _best(cells: list[Cell]) -> Cell:
    return max((cell for cell in cells if cell.is_numeric), key=lambda cell: Decimal(cell.printed.value))
