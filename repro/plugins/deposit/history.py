"""The origin of records, as far as a store still knows: their evaluations and everything behind these."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from repro.errors import ReproError
from repro.running.plan import Plan
from repro.running.records import PER_UNIT, identities, member_cells
from repro.stage_table import STAGES
from repro.store import RECORD, Store, read_json
from repro.store.results import Record
from repro.store.seal import Files, recorded_files, wrong_sizes
from repro.verdicts.compared import ComparedCell, Comparison


@dataclass(frozen=True)
class Artefact:
    """The stage, parameters, inputs and facts of an artefact.

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
        lists = (v if isinstance(v, list) else [v] for v in self.identity.get("inputs", {}).values())
        return list(chain.from_iterable(lists))


class History:
    """The artefacts of a store by fingerprint. What cannot be proved by its fingerprint counts as unknown."""

    def __init__(self, store: Store):
        self.store = store
        self.artefact = cache(self._artefact)

    def path(self, artefact: Artefact) -> Path:
        """Return the folder of a stored artefact."""
        return self.store.root / artefact.stage / artefact.fingerprint

    def behind(self, fingerprints: Iterable[str]) -> list[Artefact]:
        """Return the artefacts and all that they were made from, inputs first, each once."""
        by_fingerprint: dict[str, Artefact] = {}

        def visit(fingerprint: str) -> None:
            if fingerprint not in by_fingerprint:
                artefact = self.artefact(fingerprint)
                for parent in artefact.inputs:
                    visit(parent)
                by_fingerprint[fingerprint] = artefact

        for fingerprint in fingerprints:
            visit(fingerprint)
        return list(by_fingerprint.values())

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
        evaluations: fingerprints of the evaluations it averages; none where they are not known any more.
        is_mean: whether the value is the mean over the queries, or the mean of such means; the best of
            several groups of runs is not.
    """

    compared: ComparedCell
    record: Record
    evaluations: tuple[str, ...]
    is_mean: bool = True

    @property
    def circumstances(self) -> dict[str, Any]:
        """The facts of the record and its verdict that every form has, by name; None if one is not known."""
        compared, record = self.compared, self.record
        return {
            "verdict": compared.verdict.name,
            "why": compared.verdict.why,
            "scale": record.scale,
            "doubts": "; ".join(map(str, compared.doubts)) or None,
            "documents of a query, fewer than the measure looks at": compared.cut_at,
            "queries": record.queries,
            "queries missing": record.missing,
            "run of others": record.origin or None,
        }


def accounts_of(comparison: Comparison, plan: Plan, history: History) -> list[Account]:
    """Return the records of the compared cells, cell by cell and seed by seed.

    Of a cell that only others ran it is the last of theirs, with its verdict. Records that the stored scores
    contradict are left out: neither number has a provenance then.
    """
    identities_by_cell, measurements_by_cell = identities(plan), defaultdict(list)
    for measurement in plan.measurements:
        measurements_by_cell[measurement.cell.id].append(measurement)
    accounts = []
    for compared in comparison.cells:
        if compared.imported and not compared.records:
            theirs = compared.imported[-1]
            compared = replace(compared, records=(theirs.record,), verdict=theirs.verdict)
        seeds = {identity: seed for seed, identity in identities_by_cell.get(compared.cell.id, {}).items()}
        members = member_cells(compared.cell) or [compared.cell.id]
        for record in () if compared.contradicted else compared.records:
            is_mean = True
            evaluations: tuple[str, ...] = (record.fingerprint,)
            if record.identity in seeds:
                seed = seeds[record.identity]
                parts = [m for name in members for m in measurements_by_cell[name] if m.seed == seed]
                evaluations = tuple(part.fingerprint for m in parts for part in m.parts)
                is_mean = all(len(m.groups) == 1 for m in parts)
            elif history.artefact(record.fingerprint).state == "unknown":
                evaluations = ()
            accounts.append(Account(compared, record, evaluations, is_mean))
    return accounts


_ROUNDING = 1e-9  # of the value's unit: what adding the same numbers in another order may change


@dataclass(frozen=True)
class QueryScores:
    """The scores of one evaluation.

    Attributes:
        fingerprint: of the evaluation.
        queries: ids, in the order of ``scores``, which are in the unit of the published number.
    """

    fingerprint: str
    queries: Sequence[str]
    scores: Sequence[float]

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)


def query_scores(account: Account, history: History) -> list[QueryScores]:
    """Return the scores of each evaluation that a record averages.

    The list is empty where the record is no mean, where the store lacks an evaluation, or where the mean of
    what it has is not the recorded value. Raises StoreError when scores are not what was written.
    """
    evaluations = [history.artefact(fingerprint) for fingerprint in account.evaluations]
    if not account.is_mean or {e.state for e in evaluations} != {"stored"}:
        return []
    scale, results = PER_UNIT.get(account.record.unit, 1), []
    for evaluation in evaluations:
        content = read_json(history.path(evaluation) / "scores.json")
        values = content["measures"].get(account.record.measure)
        if not values:
            return []
        results.append(QueryScores(evaluation.fingerprint, content["queries"], [scale * v for v in values]))
    value = sum(result.mean for result in results) / len(results)
    return results if abs(value - account.record.measured) <= scale * _ROUNDING else []
