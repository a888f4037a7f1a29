"""Score runs by others, e.g. ``run.trec.gz`` for ``PAPER/1/ROW/COLUMN``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from repro.errors import UsageError, check_known
from repro.exchange.public_runs import cells_of_run, scorable_cells, split_by_presence
from repro.graph import Node, check_types
from repro.manifest.cells import Cell
from repro.progress import Progress
from repro.retrieval.datasets.catalog import dataset
from repro.retrieval.evaluation import judged_runs, measures, text_lines
from repro.running import measurement, records
from repro.running.cell_readings import CellReadings
from repro.running.engines.inline import ensure
from repro.running.scale import scale
from repro.running.workspace import Workspace
from repro.store import check_where_stored, make_writable, results
from repro.store.disk import sha256
from repro.verdicts.comparison import imported_run
from repro.verdicts.verdict import Verdict

OTHER = "none of its choices"


@dataclass(frozen=True)
class Origin:
    """Source, toolkit and parameters of a run by others, in words.

    ``readings`` maps a reading to the run's choice, or to None if it follows none of the choices.
    """

    source: str | None = None
    toolkit: str | None = None
    settings: str | None = None
    readings: Mapping[str, str | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, str | None]:
        fields = {"toolkit": self.toolkit, "settings": self.settings}
        return {"source": self.source} | {key: text for key, text in fields.items() if text}


@dataclass(frozen=True)
class ImportedCell:
    """A cell measured by a run by others.

    Attributes:
        nudged: the number of scores moved to break ties.
        made: the evaluations that the cell's own recipe plans.
        added: the added record, or None if it existed before.
    """

    cell: Cell
    record: results.Record
    run: judged_runs.GivenRun
    nudged: int
    made: tuple[Node, ...]
    added: results.AppendedRecord | None

    @property
    def new(self) -> bool:
        return self.added is not None

    @property
    def verdict(self) -> Verdict:
        return imported_run(self.cell, self.record, self.made).verdict

    @property
    def described(self) -> list[str]:
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
        verdict, r = self.verdict, self.record
        return {
            "id": self.cell.id,
            "file": r.origin["file"],
            "printed": self.cell.text,
            "measured": r.measured,
            "unit": self.cell.unit,
            "difference": verdict.difference,
            "verdict": verdict.name,
            "why": verdict.why,
            **{name: getattr(r, name) for name in ("readings", "queries", "missing", "fingerprint")},
            "new": self.new,
            "origin": r.origin,
            "nudged": self.nudged,
            **{name: getattr(self.run, name) for name in ("form", "lines", "depth", "notes")},
        }


class Importer:
    """Scores run files for cells and records the scores."""

    def __init__(self, workspace: Workspace, progress: Progress):
        self.store, self.results = workspace.store, workspace.results
        self.progress = progress
        self.machine, self.builder = workspace.machine, workspace.builder(scale("full"))
        self.readings = CellReadings(self.machine)

    def add(self, path: Path, cells: Sequence[Cell], *, origin: Origin) -> list[ImportedCell]:
        """Record and return the score of the run in ``path`` for each cell. Records nothing if one fails.

        Raises:
            UsageError: the run cannot measure a cell, or a reading or choice is unknown.
            DataError: the file is malformed or answers other topics.
            StoreError: the file belongs to a damaged artefact.
            BlockedError: the judgements are not on this machine.
        """
        make_writable(self.store.root)
        self.results.make_writable()
        check_where_stored(path)
        choices = departures(cells, origin.readings, self.readings)
        made = {c.id: self._own_measurement(c) for c in cells}
        digest = sha256(path)
        file = {"sha256": digest, "name": path.name, "source": str(path.resolve())}
        planned = [measurement.import_of(c, made[c.id], self.machine, file) for c in cells]
        parts = {m.cell.column.dataset: m.parts[0] for m in planned}
        runs = {name: self._read_run(path, part) for name, part in parts.items()}
        for m in planned:
            depth = runs[m.cell.column.dataset].depth
            if measures.looks_deeper(m.measure, depth):
                needs = f"{m.cell.id} needs {measures.cutoff(m.measure)} ({m.measure})"
                remedy = "Take a deeper run, or name other cells."
                raise UsageError(f"{path}: the run has {depth} documents a query, {needs}. {remedy}")
        for m in planned:
            check_types(m.parts[0])
            self._ensure([*m.runs, *m.parts])
        fields = {"kind": "import", "file": path.name, "sha256": digest, **origin.as_json()}
        imported = []
        for m in planned:
            run, own = runs[m.cell.column.dataset], made[m.cell.id]
            about = {**fields, "tag": run.tag, **measurement.scoring_settings(m)}
            record = records.measured_record(m, "full", self.store)
            record = replace(record, origin=about, readings=choices[m.cell.id])
            nudged = self.store.record(m.runs[0])["facts"]["nudged"]
            added = next(iter(self.results.append([record])), None)
            imported.append(ImportedCell(m.cell, record, run, nudged, own.parts if own else (), added))
        return imported

    def _own_measurement(self, cell: Cell) -> measurement.Measurement | None:
        if cell.column.kind in measurement.COMPUTED or not (cell.column.dataset and cell.column.measure):
            raise UsageError(f"{cell.id} is not scored from one run. Name a cell of one dataset and measure.")
        entry = dataset(cell.column.dataset)
        if entry.members:
            raise UsageError(f"{cell.id} is the mean of {len(entry.members)} sets, which one run cannot give")
        return self.builder.measure(cell, None) if cell.recipe else None

    def _read_run(self, path: Path, evaluation: Node) -> judged_runs.GivenRun:
        rule = evaluation.params["ignore_identical_ids"]
        self._ensure([evaluation.input(name) for name in evaluation.inputs if name != "run"])
        if "queries" in evaluation.inputs:
            topics = self.store.checked(evaluation.input("queries")) / "queries.jsonl"
            with open(topics, encoding="utf-8") as file:
                judged: text_lines.Qrels = {json.loads(line)["id"]: {} for line in file}
        else:
            judged = text_lines.read_qrels(self.store.checked(evaluation.input("qrels")) / "qrels.trec")
        return judged_runs.read_given(path, judged, ignore_identical_ids=rule)

    def _ensure(self, nodes: Sequence[Node]) -> None:
        ensure(nodes, self.store, self.progress, machine=self.machine, quiet=True).raise_first()


def departures(
    cells: Sequence[Cell], choices: Mapping[str, str | None], readings: CellReadings
) -> dict[str, dict[str, str]]:
    """Return cell -> reading -> the run's choice, if other than the default. Raises UsageError."""
    known = {name: reading for cell in cells for name, reading in readings.of(cell).items()}
    for id, choice in choices.items():
        check_known("reading of these cells", id, valid=known)
        valid = known[id].choices if choice is not None else [None]
        check_known("choice", choice, valid=valid, owner=f"reading {id}")
    return {c.id: dict(_cell_departures(c, choices, readings)) for c in cells}


def _cell_departures(
    cell: Cell, choices: Mapping[str, str | None], readings: CellReadings
) -> Iterator[tuple[str, str]]:
    known, measure = readings.of(cell), cell.column.measure
    for id, choice in choices.items():
        if id not in known or choice == known[id].default:
            continue
        default = readings.made(cell, {})
        if choice is not None and default is not None and id in default.readings:
            other = readings.made(cell, {id: choice})
            if other is not None and default.work(measure) == other.work(measure):
                continue
        yield id, choice or OTHER


def import_public(importer: Importer, folder: Path) -> tuple[list[ImportedCell], list[str]]:
    """Import the public runs of a folder. Returns the cells, and sentences on runs and cells left out."""
    runs, absent_runs = split_by_presence(folder)
    imported, notices = [], [f"not in {folder}: {run.file}" for run in absent_runs]
    all_cells = scorable_cells()
    for run in runs:
        cells, deeper = cells_of_run(run, all_cells)
        for cell in deeper:
            notices.append(f"left out: {cell.id} needs more documents than {run.file} ({run.depth})")
        if not cells:
            notices.append(f"left out: {run.file}, as no paper prints {run.system} on {run.dataset}")
            continue
        origin = Origin(run.described, run.toolkit, run.settings, run.readings)
        imported += importer.add(folder / run.file, cells, origin=origin)
    return imported, notices
