"""The columns of a table in which a run or an encoder of one's own can be scored, and its scores there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.errors import BlockedError, UsageError
from repro.graph import Node
from repro.manifest.cells import Cell, cells_of
from repro.manifest.schema import Column
from repro.plugins.yours.encoders import UserEncoder
from repro.plugins.yours.judgements import Judged
from repro.plugins.yours.runs import OwnRun, Scored
from repro.progress import Progress
from repro.running.engines.inline import ensure
from repro.running.measurement import COMPUTED, Measurement
from repro.running.plan import Plan
from repro.running.records import scores_of
from repro.running.workspace import Workspace
from repro.store import Store, make_writable
from repro.verdicts.compared import ComparedCell
from repro.verdicts.tolerance import UNITS

SEARCHES = ("search", "search_views")
PRIORITY = ("ours", "rerun", "cited", "reference")


@dataclass(frozen=True)
class Place:
    """A column in which a run can be scored.

    Attributes:
        measure: of the column; an unspecified choice may say another one.
        measured: how the table's own rows are measured in it, the paper's own retriever first; empty where
            none is.
    """

    column: Column
    unit: str
    measure: str
    measured: tuple[Measurement, ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        """The evaluations of the first of these rows, one for each collection that the column averages."""
        return tuple({p.inputs.get("qrels", p): p for p in self.measured[0].parts}.values())

    @property
    def dataset(self) -> str:
        """The dataset whose judgements count here, at a smaller scale the one that stands in."""
        is_one = self.measured and len(self.parts) == 1
        return self.parts[0].inputs["qrels"].params["dataset"] if is_one else self.column.dataset

    @property
    def rule(self) -> bool | None:
        """Whether the query's own id is dropped, as the table's own rows are scored; None without one."""
        return self.parts[0].params.get("ignore_identical_ids") if self.measured else None


@dataclass(frozen=True)
class Target:
    """A table's cells, the columns in which rows of one's own are scored, and all that scoring needs.

    Attributes:
        dataset: the only one that runs are scored on; None for all that they answer.
    """

    cells: Sequence[ComparedCell]
    places: Mapping[str, Place]
    plan: Plan
    workspace: Workspace
    progress: Progress
    dataset: str | None


def name_of(cell: Cell) -> str:
    """Return the name of the table that a cell is in."""
    return f"{cell.paper.name}/{cell.table.id}"


def scorable_places(cells: Sequence[ComparedCell], plan: Plan) -> tuple[dict[str, Place], list[str]]:
    """Return the columns that can be scored, by id, and a sentence on each other one but averages.

    Raises UsageError where none can.
    """
    by_column: dict[str, list[Cell]] = {}
    for c in cells:
        by_column.setdefault(c.cell.column.id, []).append(c.cell)
    columns = {column.id: column for column in cells[0].cell.table.columns}
    places, notices = {}, []
    for name, group in by_column.items():
        if columns[name].mean_of:
            continue
        place = _place(columns[name], group, plan)
        if isinstance(place, str):
            notices.append(f"column {name} is left out: {place}")
        else:
            places[name] = place
    if not places:
        reason = next(iter(notices), "its columns average others")
        raise UsageError(f"{name_of(cells[0].cell)} has no column that a run can be scored in: {reason}")
    return places, notices


def _place(column: Column, cells: Sequence[Cell], plan: Plan) -> Place | str:
    """A column with how its rows are measured, or why it cannot be scored."""
    unit, priority = cells[0].unit, {cell.id: PRIORITY.index(cell.role) for cell in cells}
    if column.kind in COMPUTED or unit not in UNITS or None in (column.dataset, column.measure):
        return "a run does not give what it shows"
    in_column = (m for m in plan.measurements if m.cell.id in priority)
    if measured := sorted(filter(_is_judged, in_column), key=lambda m: priority[m.cell.id]):
        return Place(column, unit, measured[0].measure, tuple(measured))
    if not plan.scale.has_originals:
        return f"no row of it is measured at scale {plan.scale.name}"
    return Place(column, unit, column.measure, ())


def _is_judged(measurement: Measurement) -> bool:
    return "judgements" in measurement.parts[0].params


def scores_of_run(run: OwnRun, target: Target) -> tuple[dict[str, Scored], list[str]]:
    """Return the run's scores in the columns that it covers, by column, and a sentence on each other dataset.

    Raises what ``own_table`` raises.
    """
    by_dataset = _by_dataset(target.places, target.dataset)
    judged, obstacles = _judged(by_dataset, target.workspace.data)
    covered = run.covered(judged)
    scored: dict[str, Scored] = {}
    for name in covered:
        measures = {column: place.measure for column, place in by_dataset[name].items()}
        by_measure = run.scores(judged[name], list(dict.fromkeys(measures.values())))
        scored |= {column: by_measure[measure] for column, measure in measures.items()}
    reasons = {name: f"{run.label} is of other topics than {name}" for name in judged.keys() - covered}
    reasons |= {name: str(error) for name, error in obstacles.items()}
    notices = [_left_out(by_dataset[name], reasons[name]) for name in by_dataset if name in reasons]
    return {column: scored[column] for column in target.places if column in scored}, notices


def _by_dataset(places: Mapping[str, Place], dataset: str | None) -> dict[str, dict[str, Place]]:
    """The places of each dataset, or of the one that is asked for. Raises UsageError where there is none."""
    by_dataset: dict[str, dict[str, Place]] = {}
    for name, place in places.items():
        if dataset in (None, place.dataset, place.column.dataset):
            by_dataset.setdefault(place.dataset, {})[name] = place
    if not by_dataset:
        names = ", ".join(dict.fromkeys(place.dataset for place in places.values()))
        raise UsageError(f"no column is scored on {dataset}; the table's datasets are {names}")
    return by_dataset


def _left_out(columns: Iterable[str], reason: str) -> str:
    names = list(columns)
    return f"column{'s' * (len(names) > 1)} {', '.join(names)} left out: {reason}"


def _judged(
    by_dataset: Mapping[str, Mapping[str, Place]], data: Path | None
) -> tuple[dict[str, Judged], dict[str, Exception]]:
    """The judgements of each dataset, and why others lack; raises the first reason where all do."""
    judged: dict[str, Judged] = {}
    obstacles: dict[str, Exception] = {}
    for name, places in by_dataset.items():
        try:
            rule = next(iter(places.values())).rule
            judged[name] = Judged.of(name, data, ignore=rule)
        except (BlockedError, UsageError) as error:
            obstacles[name] = error
    if not judged:
        raise next(iter(obstacles.values()))
    return judged, obstacles


def scores_of_encoder(encoder: UserEncoder, target: Target) -> tuple[dict[str, Scored], list[str]]:
    """Return the encoder's scores by column: texts, depth and scoring are those of a retriever of the table.

    Raises what ``own_table`` raises.
    """
    plan, workspace, first = target.plan, target.workspace, target.cells[0].cell
    evaluations: dict[str, tuple[Node, ...]] = {}
    notices = []
    for name, place in target.places.items():
        retriever = _retriever(place, first, workspace, plan)
        if retriever is None:
            notices.append(f"column {name} is left out: no row of the table ranks texts in it")
            continue
        parts = Place(place.column, place.unit, place.measure, (retriever,)).parts
        evaluations[name] = tuple(_with_encoder(part, encoder, plan) for part in parts)
    if not evaluations:
        raise UsageError(f"{name_of(first)}: {'; '.join(notices)}")
    store = workspace.store
    make_writable(store.root)
    plan.scale.pin_kernels(target.progress)
    nodes = list(dict.fromkeys(part for parts in evaluations.values() for part in parts))
    outcome = ensure(nodes, store, target.progress, machine=workspace.machine)
    scored = {
        name: _scored(parts, target.places[name].measure, store)
        for name, parts in evaluations.items()
        if all(store.state(part) == "stored" for part in parts)
    }
    if outcome.failed or not scored:
        outcome.raise_first()
    for name in (name for name in evaluations if name not in scored):
        [obstacle, *_] = next(filter(None, (outcome.blocked.get(p.fingerprint) for p in evaluations[name])))
        notices.append(_left_out([name], f"{obstacle.cause}; {obstacle.remedy}"))
    return scored, notices


def _scored(parts: Sequence[Node], measure: str, store: Store) -> Scored:
    """The scores that stored evaluations of an encoder's rankings hold."""
    depth = min(part.inputs["run"].params["depth"] for part in parts)
    run = store.path(parts[0].inputs["run"]) / "run.trec" if len(parts) == 1 else None
    return Scored.of_stored([scores_of(part, store) for part in parts], measure, depth=depth, run=run)


def _retriever(place: Place, cell: Cell, workspace: Workspace, plan: Plan) -> Measurement | None:
    """A row of the table that searches by vectors in this column, selected or not; None without one."""
    selected = next(filter(_is_by_vectors, place.measured), None)
    if selected or place.column.kind != "retrieval":
        return selected
    builder = workspace.builder(plan.scale)
    in_column = [c for c in cells_of(cell.paper, (cell.table,)) if c.column.id == place.column.id]
    rows = [c for c in in_column if c.recipe and c.is_numeric]
    made = (builder.measure(row, None) for row in sorted(rows, key=lambda c: PRIORITY.index(c.role)))
    return next(filter(_is_by_vectors, made), None)


def _is_by_vectors(measurement: Measurement) -> bool:
    return all(run.stage in SEARCHES for run in measurement.runs)


def _with_encoder(part: Node, encoder: UserEncoder, plan: Plan) -> Node:
    """A retriever's evaluation with the encoder's ranking in place of its own."""
    run = part.inputs["run"]
    passages, topics = (run.inputs[side].inputs["texts"] for side in ("passages", "queries"))
    cap = plan.scale.facts.caps.get("length")
    ranking = encoder.ranking(passages, topics, depth=run.params["depth"], cap=cap)
    return plan.machine.resolve(Node("evaluate", part.params, {**part.inputs, "run": ranking}))
