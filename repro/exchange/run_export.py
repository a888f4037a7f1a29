"""Export the run of a cell, e.g. ``PAPER/1/ROW/COLUMN``, from the store."""

from dataclasses import dataclass
from pathlib import Path

from repro.errors import StoreError, UsageError
from repro.graph import Node
from repro.manifest.cells import cell
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.evaluation.run_writer import complete_metadata, header, read_metadata, resources
from repro.stage_table import STAGES
from repro.store import RECORD, Store, seal
from repro.store.results import Record, Results


@dataclass(frozen=True)
class ExportedRun:
    """A stored file run.trec, its evaluation, and the record of the named cell."""

    path: Path
    evaluation: Node | None
    record: Record | None

    @property
    def described(self) -> str:
        if self.record is None:
            return ""
        r = self.record
        seed = "its own seed" if r.seed is None else f"seed {r.seed}"
        origin = f"imported from {r.origin.get('file')}" if r.origin else f"measured with {seed}"
        choices = [f"reading {reading} {choice}" for reading, choice in sorted(r.readings.items())]
        facts = ", ".join([origin, *choices, f"recorded {r.recorded}"])
        return f"{r.cell}: the run of {r.measured:.6g} {r.measure} ({r.unit}), {facts}"

    def header(self, version: str) -> str:
        """Return the ir_metadata header. An imported run's omits the machine that scored it."""
        collection: dict[str, str] = {}
        measures, environment = [], {}
        if self.evaluation:
            measures = list(self.evaluation.params.get("measures", ()))
            if "qrels" in self.evaluation.inputs:
                name = self.evaluation.input("qrels").params["dataset"]
                is_public = name in catalog() and catalog()[name].source == "ir_datasets"
                collection = {"name": name} | ({"ir_datasets": name} if is_public else {})
        if self.record and not self.record.origin:
            environment = self.record.environment
        own = read_metadata(self.path.with_name("run.ir_metadata.yml"))
        metadata = complete_metadata(own, collection=collection, measures=measures, environment=environment)
        if version == "0.2" and self.path.parents[1].name != "imported_run":
            metadata["resources"] = resources(seal.read_json(self.path.with_name(RECORD))["facts"])
        return header(metadata, version=version)


def stored_run(name: str, store: Store, results: Results, *, scale: str) -> ExportedRun:
    """Return the run of a cell or of the first digits of a fingerprint.

    Raises UsageError if no such run is stored, StoreError if it is damaged or is not the run that was scored.
    """
    record, node = _named_node(name, store, results, scale)
    scored = node if "run" in node.inputs and node.stage == "evaluate" else None
    run = scored.input("run") if scored else node
    if STAGES[run.stage].output != "run":
        raise UsageError(f"{node} gives {STAGES[node.stage].output}. Name a cell, a run or an evaluation.")
    if (state := store.state(run)) != "stored":
        raise UsageError(f"the run {run} is {state} in {store.root}. Run or import its cell.")
    path = store.checked(run)
    if record and scored and not _is_scored(run, scored, store):
        remedy = f"Score it again: `repro run --rebuild other-code {record.cell}`"
        raise StoreError(f"{run} was made again since {record.cell} was scored, and differs. {remedy}")
    return ExportedRun(path / "run.trec", scored, record)


def _named_node(name: str, store: Store, results: Results, scale: str) -> tuple[Record | None, Node]:
    if "/" not in name:
        return None, store.remembered(name)
    record = _preferred_record(name, store, results, scale)
    try:
        return record, store.remembered(record.fingerprint)
    except UsageError:
        reason = f"measured by several runs, or with another store than {store.root}"
        remedy = f"`repro plan {record.cell} --format json` lists fingerprints to name instead"
        raise UsageError(f"{record.cell} was {reason}; {remedy}") from None


def _is_scored(run: Node, evaluation: Node, store: Store) -> bool:
    if store.state(evaluation) != "stored":
        return True
    contents = store.contents([run])
    return contents.items() <= store.record(evaluation)["facts"].get("inputs", contents).items()


def _preferred_record(id: str, store: Store, results: Results, scale: str) -> Record:
    named = cell(id)
    records = [r for r in results.read(scale, named.paper.name) if r.cell == named.id]
    if not records:
        raise UsageError(f"{named.id} has no record at scale {scale}. Run or import it first.")

    def preference(record: Record) -> tuple[bool, ...]:
        has_defaults = record.readings.keys() <= record.substitutes.keys()
        return _is_held(record, store), not record.origin, has_defaults, record.seed is None

    return max(reversed(records), key=preference)


def _is_held(record: Record, store: Store) -> bool:
    try:
        node = store.remembered(record.fingerprint)
    except UsageError:
        return False
    run = node.input("run") if "run" in node.inputs else node
    return store.state(run) in ("stored", "damaged")
