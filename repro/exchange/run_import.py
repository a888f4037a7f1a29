"""Runs of others, scored for published cells and recorded beside the suite's own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from repro.errors import UsageError
from repro.exchange.public_runs import cells_of_run, scorable_cells, split_by_presence
from repro.exchange.run_origin import Origin, departures
from repro.graph import Node, check_types
from repro.manifest.cells import Cell
from repro.plugins.reports.among_others import ValueAmongOthers, among_others
from repro.progress import Progress
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.evaluation.any_measures import cutoff, looks_deeper
from repro.retrieval.evaluation.given_runs import GivenRun, read_given
from repro.retrieval.evaluation.qrels import Qrels, read_qrels
from repro.running.cell_readings import CellReadings
from repro.running.engines.inline import ensure
from repro.running.imports import import_of, scoring_settings
from repro.running.measurement import COMPUTED, Measurement
from repro.running.records import measured_record
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import check_where_stored
from repro.store.disk import sha256
from repro.store.results import AppendedRecord, Record
from repro.verdicts.imported import SCALE, imported_run
from repro.verdicts.verdict import Verdict


@dataclass(frozen=True)
class ImportedCell:
    """A cell measured by somebody else's run.

    Attributes:
        run: what its file says.
        nudged: how many of its scores were moved to break ties.
        made: how the cell's own recipe measures it; empty without one.
        added: the record as it was added; None where it was there before.
    """

    cell: Cell
    record: Record
    run: GivenRun
    nudged: int
    made: tuple[Node, ...]
    added: AppendedRecord | None

    @property
    def new(self) -> bool:
        """Whether the record was not there before."""
        return self.added is not None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the imported run alone."""
        return imported_run(self.cell, self.record, self.made).verdict

    @property
    def among_others(self) -> ValueAmongOthers | None:
        """The score among what others state of the cell; None without reports, or by another measure."""
        if self.record.measure != self.cell.column.measure:
            return None
        return among_others(self.cell, Decimal(repr(self.record.measured)))

    @property
    def described(self) -> list[str]:
        """The facts of the file in one line, and what it says against itself in others."""
        run, r = self.run, self.record
        maker = ", ".join(filter(None, [r.origin.get("toolkit"), r.origin.get("settings")]))
        name = f"{r.origin['file']} ({maker})" if maker else r.origin["file"]
        queries = f"{len(run.rankings)} of {r.queries} judged queries ({r.missing} missing)"
        depth = f"{run.lines} lines, depth {run.depth}, {self.nudged} scores moved to break ties"
        return [
            f"{name}: {run.form}, {queries}, {depth}",
            *(f"{r.origin['file']}: {note}" for note in run.notes),
        ]

    def as_json(self) -> dict:
        """The object that ``import-run --json`` prints."""
        verdict, r, reports = self.verdict, self.record, self.among_others
        return {
            "id": self.cell.id,
            "file": r.origin["file"],
            "printed": self.cell.text,
            "measured": r.measured,
            "unit": self.cell.unit,
            "difference": verdict.difference,
            "verdict": verdict.name,
            "why": verdict.why,
            "among_others": reports.as_json() if reports else None,
            "readings": r.readings,
            "queries": r.queries,
            "missing": r.missing,
            "fingerprint": r.fingerprint,
            "new": self.new,
            "origin": r.origin,
            "nudged": self.nudged,
            **{name: getattr(self.run, name) for name in ("form", "lines", "depth", "notes")},
        }


class Importer:
    """Scores run files for cells, and records the scores in a workspace."""

    def __init__(self, workspace: Workspace, progress: Progress):
        self.store, self.results = workspace.store, workspace.results
        self.progress = progress
        self.machine, self.builder = workspace.machine, workspace.builder(scale(SCALE))
        self.readings = CellReadings(self.machine)

    def add(self, path: Path, cells: Sequence[Cell], *, origin: Origin) -> list[ImportedCell]:
        """Record the score of the run in ``path`` in each cell; nothing is recorded unless all can be.

        Raises:
            UsageError: a cell that no run can measure, or that looks deeper than the run goes; a reading that
                no cell rests on, or a choice that it does not have.
            DataError: the file is malformed or answers other topics.
            StoreError: it is a store's, and damaged.
            BlockedError: the judgements are not on this machine.
        """
        check_where_stored(path)
        readings_by_cell = departures(cells, origin.readings, self.readings)
        plans = {cell.id: self._scoring(cell) for cell in cells}
        runs_by_dataset: dict[str, GivenRun] = {}
        for cell in cells:
            if cell.column.dataset not in runs_by_dataset:
                runs_by_dataset[cell.column.dataset] = self._read_run(path, plans[cell.id])
            depth, measure = runs_by_dataset[cell.column.dataset].depth, plans[cell.id].measure
            if looks_deeper(measure, depth):
                reason = f"{cell.id} is {measure} and looks at {cutoff(measure)}"
                remedy = "take a deeper run, or name other cells"
                raise UsageError(f"{path}: the run has {depth} documents a query, {reason}; {remedy}")
        digest = sha256(path)
        measurements = [_with_run(plans[cell.id], path, digest, self.machine) for cell in cells]
        for measurement in measurements:
            self._ensure([*measurement.runs, *measurement.parts])
        fields = {"kind": "import", "file": path.name, "sha256": digest, **origin.as_json()}
        imported_cells = []
        for m in measurements:
            cell, run = m.cell, runs_by_dataset[m.cell.column.dataset]
            recipe_nodes = plans[cell.id].parts if cell.recipe else ()
            record = self._record(m, {**fields, "tag": run.tag}, readings_by_cell[cell.id])
            nudged = self.store.record(m.runs[0])["facts"]["nudged"]
            added = self.results.append([record])
            imported_cells.append(
                ImportedCell(cell, record, run, nudged, recipe_nodes, added[0] if added else None)
            )
        return imported_cells

    def _scoring(self, cell: Cell) -> Measurement:
        """The measurement that scores a run for the cell, with its recipe's run in place of the file's."""
        if cell.column.kind in COMPUTED or not (cell.column.dataset and cell.column.measure):
            raise UsageError(f"{cell.id} is not scored from one run; name a cell of one dataset and measure")
        entry = dataset(cell.column.dataset)
        if entry.members:
            raise UsageError(f"{cell.id} is the mean of {len(entry.members)} sets, which one run cannot give")
        if cell.recipe:
            return self.builder.measure(cell, None)
        return import_of(cell, None, self.machine, {"sha256": "", "name": "", "source": ""})

    def _read_run(self, path: Path, plan: Measurement) -> GivenRun:
        """Read the file against the topics of the dataset, which are built if the store lacks them."""
        inputs, rule = plan.parts[0].inputs, plan.parts[0].params["ignore_identical_ids"]
        self._ensure([node for name, node in inputs.items() if name != "run"])
        if "queries" in inputs:
            with open(self.store.checked(inputs["queries"]) / "queries.jsonl", encoding="utf-8") as file:
                judged: Qrels = {json.loads(line)["id"]: {} for line in file}  # by answers, no document is
        else:
            judged = read_qrels(self.store.checked(inputs["qrels"]) / "qrels.trec")
        return read_given(path, judged, ignore_identical_ids=rule)

    def _ensure(self, nodes: Sequence[Node]) -> None:
        """Make sure that the store holds the nodes. Raises what stands in the way."""
        ensure(nodes, self.store, self.progress, machine=self.machine, quiet=True).raise_first()

    def _record(self, measurement: Measurement, origin: dict, readings: dict[str, str]) -> Record:
        fields = {"origin": {**origin, **scoring_settings(measurement)}, "readings": readings}
        return replace(measured_record(measurement, SCALE, self.store), **fields)


def import_public(importer: Importer, folder: Path) -> tuple[list[ImportedCell], list[str]]:
    """Import every public run of a folder; also returns sentences on what is left out."""
    runs, absent_runs = split_by_presence(folder)
    imported_cells, notices = [], [f"not in {folder}: {run.file}" for run in absent_runs]
    all_cells = scorable_cells()
    for run in runs:
        cells, deeper = cells_of_run(run, all_cells)
        notices += [f"left out: {cell.id} looks deeper than {run.file} goes ({run.depth})" for cell in deeper]
        if cells:
            origin = Origin(run.described, run.toolkit, run.settings, run.readings)
            imported_cells += importer.add(folder / run.file, cells, origin=origin)
        else:
            notices.append(f"left out: {run.file}, as no paper prints {run.system} on {run.dataset}")
    return imported_cells, notices


def _with_run(plan: Measurement, path: Path, digest: str, machine: Machine) -> Measurement:
    """The measurement with the file in place of the recipe's run, and without the recipe's readings."""
    file = {"sha256": digest, "name": path.name, "source": str(path.resolve())}
    measurement = import_of(plan.cell, plan, machine, file)
    check_types(measurement.parts[0])
    return measurement
