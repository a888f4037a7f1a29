"""Scores a user's run or encoder in columns of a table, and finds the runs of other rows to test against."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from repro.errors import BlockedError, ReproError, UsageError
from repro.exchange.public_runs import PublicRun, public_runs
from repro.graph import Node, grouped
from repro.manifest.cells import Cell, cells_of
from repro.manifest.schema import Column
from repro.plugins.yours.encoders import UserEncoder, announce_duration
from repro.plugins.yours.runs import Judged, OwnRun, Parts, Scored, all_scores
from repro.progress import Progress
from repro.retrieval.evaluation import agreement
from repro.retrieval.evaluation.measures import looks_deeper
from repro.retrieval.evaluation.runs import read_run_file
from repro.running.engines.inline import ensure
from repro.running.measurement import COMPUTED, Measurement
from repro.running.plan import Plan
from repro.running.records import scores_of
from repro.running.requirements import Machine
from repro.running.workspace import Workspace
from repro.stage_table import SEARCHES
from repro.store import Store, check_where_stored, disk, make_writable
from repro.verdicts import row_tests, verdict
from repro.verdicts.compared import ComparedCell, test_key

PRIORITY = ("ours", "rerun", "cited", "reference")
MEASURED = "measured"
LIKENESS = ("rmse", "kendall_union", "rank_biased_overlap")
RUNS = "runs"  # within the data folder
Source = OwnRun | UserEncoder


@dataclass(frozen=True)
class Place:
    """A column in which a run can be scored.

    Attributes:
        measure: the column's measure, or the one that the planned rows take for an unspecified choice.
        original: the dataset that the column names. At reduced scales the rows use another one.
        measured: the planned measurements of the column, those of the paper's own rows first.
    """

    column: Column
    unit: str
    measure: str
    original: str
    measured: tuple[Measurement, ...] = ()

    @property
    def parts(self) -> tuple[Node, ...]:
        return _evaluations(self.measured[0])

    @property
    def dataset(self) -> str:
        """The dataset of the judgements: of the first measured row, otherwise of the column."""
        is_one = self.measured and len(self.parts) == 1
        return self.parts[0].input("qrels").params["dataset"] if is_one else self.original

    @property
    def rule(self) -> bool | None:
        """Whether a document with the query's id is dropped. None without a measured row."""
        return self.parts[0].params.get("ignore_identical_ids") if self.measured else None


def _evaluations(measurement: Measurement) -> tuple[Node, ...]:
    return tuple({part.inputs.get("qrels", part): part for part in measurement.parts}.values())


@dataclass(frozen=True)
class Target:
    """A table's cells and its columns (``places``) to score runs in, or with ``dataset`` only those on it."""

    cells: Sequence[ComparedCell]
    places: Mapping[str, Place]
    plan: Plan
    workspace: Workspace
    progress: Progress
    dataset: str | None


def name_of(cell: Cell) -> str:
    """Return the name of a cell's table, e.g. ``PAPER/1``."""
    return f"{cell.paper.name}/{cell.table.id}"


def scorable_places(cells: Sequence[ComparedCell], plan: Plan) -> tuple[dict[str, Place], list[str]]:
    """Return the columns in which a run can be scored, and sentences on the others except averages.

    Raises UsageError if there is none.
    """
    by_column = grouped((c.cell.column.id, c.cell) for c in cells if not c.cell.column.mean_of)
    found = {name: _place(group, plan) for name, group in by_column.items()}
    places = {name: place for name, place in found.items() if isinstance(place, Place)}
    notices = [_left_out([name], reason) for name, reason in found.items() if isinstance(reason, str)]
    if not places:
        reason = next(iter(notices), "all columns are averages")
        raise UsageError(f"{name_of(cells[0].cell)} has no column to score a run in: {reason}")
    return places, notices


def _place(cells: Sequence[Cell], plan: Plan) -> Place | str:
    column, unit, ids = cells[0].column, cells[0].unit, {c.id for c in cells}
    is_of_run = column.kind not in COMPUTED and unit in verdict.UNITS
    if not is_of_run or column.dataset is None or column.measure is None:
        return "its values cannot be computed from a run"
    in_column = [m for m in plan.measurements if m.cell.id in ids and "judgements" in m.parts[0].params]
    if measured := sorted(in_column, key=lambda m: PRIORITY.index(m.cell.role)):
        return Place(column, unit, measured[0].measure, column.dataset, tuple(measured))
    if not plan.scale.has_originals:
        return f"no row is measured at scale {plan.scale.name}"
    return Place(column, unit, column.measure, column.dataset)


def scores_of_source(source: Source, target: Target) -> tuple[dict[str, Scored], list[str]]:
    """Return the scores of a run or an encoder by column, and a sentence on each column without scores.

    An encoder first encodes and searches. Raises an error if no column has scores.
    """
    if isinstance(source, OwnRun):
        return _scores_of_run(source, target)
    return _scores_of_encoder(source, target)


def _scores_of_run(run: OwnRun, target: Target) -> tuple[dict[str, Scored], list[str]]:
    by_dataset = _by_dataset(target.places, target.dataset)
    judged, reasons = dict[str, Judged](), dict[str, ReproError]()
    for name, places in by_dataset.items():
        try:
            rule, home = next(iter(places.values())).rule, target.workspace.locations.home
            judged[name] = Judged.of(name, target.workspace.data, home=home, ignore=rule)
        except (BlockedError, UsageError) as error:
            reasons[name] = error
    if not judged:
        raise next(iter(reasons.values()))
    covered, notices, scored = run.covered(judged), [], dict[str, Scored]()
    for name, places in by_dataset.items():
        if name in covered:
            by_measure = run.scores(judged[name], list(dict.fromkeys(p.measure for p in places.values())))
            scored |= {column: by_measure[place.measure] for column, place in places.items()}
        else:
            reason = reasons.get(name, f"{run.label} has other topics than {name}")
            notices.append(_left_out(places, str(reason)))
    return {c: scored[c] for c in target.places if c in scored}, notices


def _by_dataset(places: Mapping[str, Place], dataset: str | None) -> dict[str, dict[str, Place]]:
    by_dataset: dict[str, dict[str, Place]] = {}
    for name, place in places.items():
        if dataset in (None, place.dataset, place.original):
            by_dataset.setdefault(place.dataset, {})[name] = place
    if not by_dataset:
        names = ", ".join(dict.fromkeys(place.dataset for place in places.values()))
        raise UsageError(f"no column is scored on {dataset}. The table's datasets: {names}.")
    return by_dataset


def _left_out(columns: Iterable[str], reason: str) -> str:
    names = list(columns)
    return f"column{'s' * (len(names) > 1)} {', '.join(names)} left out: {reason}"


def _scores_of_encoder(encoder: UserEncoder, target: Target) -> tuple[dict[str, Scored], list[str]]:
    evaluations, notices = _evaluations_of_encoder(encoder, target)
    store, machine = target.workspace.store, target.workspace.machine
    make_writable(store.root)
    target.plan.scale.pin_kernels(target.progress)
    nodes = list(dict.fromkeys(chain.from_iterable(evaluations.values())))
    rankings = [part.input("run") for part in nodes]
    announce_duration(encoder.label, rankings, store, target.progress, machine=machine)
    outcome = ensure(nodes, store, target.progress, machine=machine)
    scored = {
        name: _stored_scores(parts, target.places[name].measure, store)
        for name, parts in evaluations.items()
        if all(store.state(part) == "stored" for part in parts)
    }
    if outcome.failed or not scored:
        outcome.raise_first()
    for name, parts in evaluations.items():
        if name not in scored:
            [obstacle, *_] = next(filter(None, (outcome.blocked.get(part.fingerprint) for part in parts)))
            notices.append(_left_out([name], f"{obstacle.cause}. To do: {obstacle.remedy}"))
    return scored, notices


def _evaluations_of_encoder(encoder: UserEncoder, target: Target) -> tuple[dict[str, list[Node]], list[str]]:
    plan, workspace, first = target.plan, target.workspace, target.cells[0].cell
    evaluations, notices = dict[str, list[Node]](), list[str]()
    for name, place in target.places.items():
        if retriever := _retriever(place, first, workspace, plan):
            parts = _evaluations(retriever)
            evaluations[name] = [_with_encoder(part, encoder, plan) for part in parts]
        else:
            notices.append(_left_out([name], "no row of the table retrieves by vectors in this column"))
    if not evaluations:
        raise UsageError(f"{name_of(first)}: {'. '.join(notices)}")
    for name in list(evaluations):
        try:
            for part in evaluations[name]:
                check_sources(part, workspace.store, workspace.machine)
        except BlockedError as error:
            notices.append(_left_out([name], f"{error.cause}. To do: {error.remedy}"))
            del evaluations[name]
            if not evaluations:
                raise
    return evaluations, notices


def check_sources(node: Node, store: Store, machine: Machine) -> None:
    """Raise BlockedError for the first obstacle of a stage or its inputs, unless it is stored."""
    if store.state(node) == "stored":
        return
    if obstacle := machine.obstacles.get(node.fingerprint):
        raise BlockedError(obstacle.cause, obstacle.remedy)
    for parent in node.parents():
        check_sources(parent, store, machine)


def _stored_scores(parts: Sequence[Node], measure: str, store: Store) -> Scored:
    depth = min(part.input("run").params["depth"] for part in parts)
    contents = [scores_of(part, store) for part in parts]
    missing = sum(len(content["missing"]) for content in contents)
    return Scored(measure, contents, depth, missing, _run_file(parts, store))


def _run_file(parts: Sequence[Node], store: Store) -> Path | None:
    run = parts[0].input("run")
    return store.path(run) / "run.trec" if len(parts) == 1 and store.state(run) == "stored" else None


def _retriever(place: Place, cell: Cell, workspace: Workspace, plan: Plan) -> Measurement | None:
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
    run = part.input("run")
    passages, topics = (run.input(side).input("texts") for side in ("passages", "queries"))
    cap = plan.scale.facts.caps.get("length")
    ranking = encoder.ranking(passages, topics, depth=run.params["depth"], cap=cap)
    return plan.machine.resolve(Node("evaluate", part.params, {**part.inputs, "run": ranking}))


@dataclass(frozen=True)
class Rival:
    """The scores of a row to test against. ``by`` is ``measured``, ``yours`` or ``run by TOOLKIT``."""

    by: str
    parts: Parts
    run: Path | None = None
    doubts: tuple[str, ...] = ()
    public: PublicRun | None = None


def rivals(
    cells: Sequence[ComparedCell], places: Mapping[str, Place], plan: Plan, workspace: Workspace
) -> dict[str, dict[str, Rival]]:
    """Return column -> row -> the scores of its run: the suite's or, at scale full, a public one.

    The public runs of a row are from a single toolkit if possible.
    """
    by_column = grouped((c.cell.column.id, c) for c in cells)
    public: dict[str, dict[str, dict[str, PublicRun]]] = {}
    if (data := workspace.data) and plan.scale.compares_with_paper:
        for name, place in places.items():
            for c in by_column[name]:
                public.setdefault(c.cell.row.id, {})[name] = _public(c.cell, place.measure, data)
    chosen = {row: _of_one_toolkit(columns) for row, columns in public.items()}
    measures = {name: place.measure for name, place in places.items()}
    return {name: _rivals(by_column[name], m, plan, workspace, chosen) for name, m in measures.items()}


def _of_one_toolkit(columns: Mapping[str, Mapping[str, PublicRun]]) -> dict[str, PublicRun]:
    counts = Counter(toolkit for runs in columns.values() for toolkit in runs)
    best = next((toolkit for toolkit, count in counts.items() if count == max(counts.values())), "")
    return {name: runs.get(best) or next(iter(runs.values())) for name, runs in columns.items() if runs}


def _rivals(
    cells: Sequence[ComparedCell],
    measure: str,
    plan: Plan,
    workspace: Workspace,
    public: Mapping[str, Mapping[str, PublicRun]],
) -> dict[str, Rival]:
    if not cells:
        return {}
    store = workspace.store
    stored = row_tests.rows_with_scores(plan).get(test_key(cells[0].cell), {})
    by_row: dict[str, Rival] = {}
    for c in cells:
        rival = _measured(c, stored.get(c.cell.row.id, ()), measure, store)
        run = public.get(c.cell.row.id, {}).get(c.cell.column.id)
        if rival is None and run and workspace.data and (scored := _scores(run, measure, workspace.data)):
            rival = Rival(f"run by {run.toolkit}", scored.parts, scored.run, public=run)
        if rival:
            by_row[c.cell.row.id] = rival
    return by_row


def likeness(
    run: Path | None, values: Sequence[float], rival: Rival, measure: str
) -> dict[str, float | None]:
    """Return ``rmse`` between ``values`` and a rival's scores, and ``kendall_union`` (tau on the union of
    documents) and ``rank_biased_overlap`` of both runs, as in repro_eval. They are None if a run is absent.
    """
    error = agreement.root_mean_square_error(values, all_scores(rival.parts, measure))
    alike = dict.fromkeys(LIKENESS) | {"rmse": error}
    if run is None or rival.run is None:
        return alike
    check_where_stored(rival.run)
    first, second = (read_run_file(path, strict=False).rankings for path in (run, rival.run))
    deepest = max(len(ranking) for rankings in (first, second) for ranking in rankings.values())
    overlap = agreement.rank_biased_overlap(first, second, depth=min(agreement.DEPTH, deepest))
    return alike | {"kendall_union": agreement.kendall_union(first, second), "rank_biased_overlap": overlap}


def _measured(c: ComparedCell, evaluations: Sequence[Node], measure: str, store: Store) -> Rival | None:
    for part in evaluations:
        store.checked(part)
    parts = [scores_of(part, store) for part in evaluations]
    if not parts or c.outdated or any(measure not in part["measures"] for part in parts):
        return None
    return Rival(MEASURED, parts, _run_file(evaluations, store), tuple(doubt.kind for doubt in c.doubts))


def _public(cell: Cell, measure: str, data: Path) -> dict[str, PublicRun]:
    runs: dict[str, PublicRun] = {}
    for run in reversed(public_runs()):
        is_of_cell = (run.system, run.dataset) == (cell.row.system, cell.column.dataset)
        is_usable = is_of_cell and not looks_deeper(measure, run.depth) and (data / RUNS / run.file).is_file()
        if is_usable and run.toolkit not in runs and _scores(run, measure, data):
            runs[run.toolkit] = run
    return runs


def _scores(run: PublicRun, measure: str, data: Path) -> Scored | None:
    return _scores_of_file(data / RUNS / run.file, run.sha256, run.dataset, measure, data)


@functools.cache
def _scores_of_file(path: Path, digest: str, dataset: str, measure: str, data: Path) -> Scored | None:
    if disk.sha256(path) != digest:
        return None
    return OwnRun(path).scores(Judged.of(dataset, data), [measure])[measure]
