"""How records came about, as far as a store still knows: their evaluations and everything behind these."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.graph import canonical
from repro.judging.compared import Compared
from repro.running.plan import Plan
from repro.stage_table import STAGES
from repro.store import RECORD, Store, read_json
from repro.store.results import Record
from repro.store.seal import Files, recorded_files, wrong_sizes


@dataclass(frozen=True)
class Artefact:
    """What is known of an artefact.

    Attributes:
        state: stored, damaged, missing (a note tells what it was) or unknown (not even a note is left).
        identity: stage, version, params and inputs, over which its fingerprint is taken; empty if unknown.
        files: size and sha256 of its files when it was made; like facts, of one that is stored.
    """

    fingerprint: str
    state: str
    identity: Mapping[str, Any] = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        """The stage that makes it; empty if unknown."""
        return self.identity.get("stage", "")

    @property
    def inputs(self) -> list[str]:
        """The fingerprints of what it was made from."""
        values = self.identity.get("inputs", {}).values()
        return [one for value in values for one in (value if isinstance(value, list) else [value])]


class History:
    """The artefacts of a store by fingerprint. What cannot be proved by its fingerprint counts as unknown."""

    def __init__(self, store: Store):
        self.store = store
        self.artefact = cache(self._artefact)

    def path(self, artefact: Artefact) -> Path:
        """The folder of a stored artefact."""
        return self.store.root / artefact.stage / artefact.fingerprint

    def behind(self, fingerprints: list[str]) -> list[Artefact]:
        """The artefacts of the fingerprints and all that these were made from, inputs first, each once."""
        ordered: dict[str, Artefact] = {}

        def visit(fingerprint: str) -> None:
            if fingerprint not in ordered:
                artefact = self.artefact(fingerprint)
                for one in artefact.inputs:
                    visit(one)
                ordered[fingerprint] = artefact

        for fingerprint in fingerprints:
            visit(fingerprint)
        return list(ordered.values())

    def _artefact(self, fingerprint: str) -> Artefact:
        places = (self.store.root / stage / fingerprint for stage in STAGES)
        path = next((place for place in places if place.is_dir()), None)
        if path and not wrong_sizes(path):
            record = read_json(path / RECORD)
            return Artefact(fingerprint, "stored", record["identity"], recorded_files(path), record["facts"])
        try:
            identity = self.store.remembered(fingerprint).identity()
        except ReproError:
            identity = {}
        return Artefact(fingerprint, "damaged" if path else "missing" if identity else "unknown", identity)


@dataclass(frozen=True)
class Account:
    """One record with what was said of it and what it was measured by.

    Attributes:
        measure: by which the cell was scored, as in ir_measures.
        evaluations: fingerprints of the evaluations it averages; none where they are not known any more.
        is_mean: whether the value is the mean over the queries, or the mean of such means; the best of
            several groups of runs is not.
    """

    compared: Compared
    record: Record
    measure: str
    evaluations: tuple[str, ...]
    is_mean: bool = True


def accounts(compared: Compared, plan: Plan, history: History) -> list[Account]:
    """The records of a compared cell, one per seed, each with its evaluations."""
    cell = compared.cell
    measurements = _measurements(compared, plan)
    measures = [m.measure for m in plan.measurements if m.cell.id == cell.id]
    averaged = [m.measure for group in measurements.values() for m in group]
    measure = next(iter([*measures, *averaged]), cell.column.measure or "")
    made = []
    for record in compared.records:
        parts = measurements.get(record.fingerprint, ())
        evaluations = tuple(part.fingerprint for m in parts for part in m.parts)
        if not evaluations and history.artefact(record.fingerprint).state != "unknown":
            evaluations = (record.fingerprint,)
        is_mean = all(len(m.groups) == 1 for m in parts)
        made.append(Account(compared, record, measure, evaluations, is_mean))
    return made


def _measurements(compared: Compared, plan: Plan) -> dict[str, tuple]:
    """Fingerprint of a record of the cell -> the measurements it is made of, several for an average."""
    cell = compared.cell
    if not cell.column.mean_of:
        return {m.fingerprint: (m,) for m in plan.measurements if m.cell.id == cell.id}
    row = cell.id.rpartition("/")[0]
    known = {(m.cell.id, m.seed): m for m in plan.measurements}
    made = {}
    for seed in {m.seed for m in plan.measurements}:
        parts = tuple(known.get((f"{row}/{column}", seed)) for column in cell.column.mean_of)
        if all(parts):
            identity = canonical([m.fingerprint for m in parts])
            made[hashlib.sha256(identity.encode()).hexdigest()] = parts
    return made
