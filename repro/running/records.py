"""Records of measured cells, made from the scores that the store holds."""

import functools
import hashlib
from dataclasses import replace
from datetime import UTC, datetime

from repro.graph import canonical
from repro.locations import CHECKOUT
from repro.machine.system import hardware
from repro.machine.versions import commit, software
from repro.manifest.cells import Cell
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.store import Store, read_json
from repro.store.results import Record, Results

_scores = functools.lru_cache(maxsize=8)(read_json)  # columns share an evaluation


def record(plan: Plan, store: Store, results: Results) -> int:
    """Append a record for every measured cell whose evaluations are stored; returns how many were new."""
    plan.look(store)
    records = [
        measured(m, plan.scale.name, store)
        for m in plan.measurements
        if all(plan.states[p.fingerprint] == "stored" for p in m.parts)
    ]
    return results.append(records + averages(plan, records))


def measured(measurement: Measurement, scale: str, store: Store) -> Record:
    """The record of one cell in the paper's unit: the mean over its queries, then over its members and runs.

    Of several groups of runs the largest mean. A set of queries that several runs answer is counted once;
    what is missing, in the run that misses most.
    """
    means: dict[str, float] = {}
    queries: dict[str, int] = {}
    missing: dict[str, int] = {}
    for part in measurement.parts:
        scores = _scores(store.path(part) / "scores.json")
        judged = part.inputs.get("qrels", part).fingerprint
        values = scores["measures"][measurement.measure]
        means[part.fingerprint] = sum(values) / len(values)
        queries[judged] = len(values)
        missing[judged] = max(missing.get(judged, 0), len(scores["missing"]))
    value = max(sum(means[p.fingerprint] for p in group) / len(group) for group in measurement.groups)
    return Record(
        cell=measurement.cell.id,
        scale=scale,
        measured=value * (100 if measurement.cell.unit == "percent" else 1),
        seed=measurement.seed,
        fingerprint=measurement.fingerprint,
        queries=sum(queries.values()),
        missing=sum(missing.values()),
        readings=dict(measurement.departures),
        substitutes=dict(measurement.substitutes),
        **_circumstances(),
    )


def averages(plan: Plan, records: list[Record]) -> list[Record]:
    """Records of columns that average others, where every part was measured with the same seed."""
    known = {(r.cell, r.seed): r for r in records}
    made = []
    for cell in plan.cells:
        for seed in {r.seed for r in records} if cell.column.mean_of else ():
            prefix = cell.id.rpartition("/")[0]
            parts = [known.get((f"{prefix}/{column}", seed)) for column in cell.column.mean_of]
            if all(parts):
                made.append(_average(cell, parts))
    return made


def _average(cell: Cell, parts: list[Record]) -> Record:
    return replace(
        parts[0],
        cell=cell.id,
        measured=sum(r.measured for r in parts) / len(parts),
        fingerprint=hashlib.sha256(canonical([r.fingerprint for r in parts]).encode()).hexdigest(),
        queries=sum(r.queries for r in parts),
        missing=sum(r.missing for r in parts),
        readings={k: v for r in parts for k, v in r.readings.items()},
        substitutes={k: v for r in parts for k, v in r.substitutes.items()},
        **_circumstances(),
    )


def _circumstances() -> dict:
    return {"environment": _environment(), "recorded": datetime.now(UTC).isoformat(timespec="seconds")}


@functools.cache
def _environment() -> dict:
    """Commit, versions and hardware: what a reader needs to judge a small difference."""
    return {"commit": commit(CHECKOUT), "software": software(), "hardware": hardware()}
