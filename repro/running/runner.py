"""Carry out a plan: run what is missing, record what was measured, lose nothing to a failure."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from repro.errors import BlockedError, ReproError, StoreError
from repro.graph import Node, canonical
from repro.progress import Progress
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.running.requirements import Obstacle
from repro.store import Store, damage, read_json, translated
from repro.store.results import Record, Results

Engine = Callable[[Node, Store, Progress], Path]


@dataclass
class Outcome:
    """What became of a plan's nodes.

    Attributes:
        run: nodes run by this invocation.
        failed: fingerprint -> sentence, for nodes that failed.
        blocked: fingerprint -> obstacles, for nodes that were not tried.
    """

    run: list[Node] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, list[Obstacle]] = field(default_factory=dict)

    def of(self, measurement: Measurement) -> str:
        """ran, failed or blocked."""
        for name, group in (("failed", self.failed), ("blocked", self.blocked)):
            if any(p.fingerprint in group for p in measurement.parts):
                return name
        return "ran"


def execute(
    plan: Plan, store: Store, engine: Engine, progress: Progress, *, rebuild: bool = False
) -> Outcome:
    """Run every needed node that nothing stands in the way of, inputs first.

    A node that fails or is blocked holds back only what is below it.

    Raises:
        StoreError: a stored artefact is damaged and ``rebuild`` was not asked for.
    """
    outcome, needed = Outcome(), prepare(plan, store, rebuild=rebuild)
    for number, node in enumerate(needed, 1):
        if not held_back(plan, node, outcome):
            progress.note(f"[{number}/{len(needed)}] {describe(node)}")
            _attempt(node, store, engine, progress, outcome)
    return outcome


def prepare(plan: Plan, store: Store, *, rebuild: bool) -> list[Node]:
    """What is to run, inputs first, once the store has been looked at and knows every node of the plan.

    Raises:
        StoreError: a stored artefact is damaged and ``rebuild`` was not asked for.
    """
    plan.look(store)
    _mend(plan, store, rebuild)
    needed = plan.needed()
    _forget_outdated(plan.nodes, store)  # of stored nodes too: a child reads the notes of its inputs
    store.remember(plan.nodes)
    return needed


def held_back(plan: Plan, node: Node, outcome: Outcome) -> bool:
    """Whether an obstacle, or what became of its inputs, keeps a node from running; noted in ``outcome``."""
    upstream = [outcome.failed[p.fingerprint] for p in node.parents() if p.fingerprint in outcome.failed]
    obstacles = _in_the_way(plan, node, outcome)
    if upstream:
        outcome.failed[node.fingerprint] = upstream[0]
    elif obstacles:
        outcome.blocked[node.fingerprint] = obstacles
    return bool(upstream or obstacles)


def describe(node: Node) -> str:
    """A node in a few words: the stage and what tells it from others of its kind."""
    shown = [
        str(node.params[k])
        for k in ("dataset", "kind", "depth", "max_steps")
        if node.params.get(k) is not None
    ]
    if "objective" in node.params:
        shown.insert(0, node.params["objective"]["name"])
    return " ".join([node.stage, *shown, f"({node.fingerprint[:12]})"])


def _mend(plan: Plan, store: Store, rebuild: bool) -> None:
    for node in plan.nodes:
        if plan.states[node.fingerprint] != "damaged":
            continue
        if not rebuild:
            wrong = "; ".join(damage(store.path(node)))
            raise StoreError(f"artefact {node} is damaged: {wrong}; run the same command with --rebuild")
        store.discard(node)
        plan.states[node.fingerprint] = "missing"


def _forget_outdated(nodes: list[Node], store: Store) -> None:
    """Drop notes of nodes whose data or code lie elsewhere now: that is no part of a fingerprint."""
    for node in nodes:
        note = store.root / "nodes" / f"{node.fingerprint}.json"
        try:
            outdated = json.loads(note.read_text())["params"] != json.loads(canonical(dict(node.params)))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, LookupError, TypeError):
            outdated = True
        if outdated:
            with translated(store.root):
                note.unlink(missing_ok=True)


def _in_the_way(plan: Plan, node: Node, outcome: Outcome) -> list[Obstacle]:
    own = plan.machine.obstacles.get(node.fingerprint)
    found = [own] if own else []
    for parent in node.parents():
        found += outcome.blocked.get(parent.fingerprint, [])
    return list(dict.fromkeys(found))


def _attempt(node: Node, store: Store, engine: Engine, progress: Progress, outcome: Outcome) -> None:
    try:
        engine(node, store, progress)
    except BlockedError as error:
        outcome.blocked[node.fingerprint] = [Obstacle(error.cause, error.remedy)]
    except ReproError as error:
        progress.note(f"  failed: {error}")
        outcome.failed[node.fingerprint] = str(error)
    else:
        outcome.run.append(node)


def record(plan: Plan, store: Store, results: Results) -> int:
    """Append a record for every measured cell whose evaluations are stored; returns how many were new."""
    plan.look(store)
    records = []
    for measurement in plan.measurements:
        if all(plan.states[p.fingerprint] == "stored" for p in measurement.parts):
            records.append(measured(measurement, plan.scale.name, store))
    return results.append(records + averages(plan, records))


def measured(measurement: Measurement, scale: str, store: Store) -> Record:
    """The record of one cell in print's unit: the mean over its queries, then over its members and runs.

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
    value *= 100 if measurement.cell.unit == "percent" else 1
    return _record(
        measurement, scale, value, measurement.fingerprint, sum(queries.values()), sum(missing.values())
    )


@functools.lru_cache(maxsize=8)
def _scores(path: Path) -> dict:
    return read_json(path)


def averages(plan: Plan, records: list[Record]) -> list[Record]:
    """Records of columns that average others, where every part was measured with the same seed."""
    known = {(r.cell, r.seed): r for r in records}
    found = []
    for cell in plan.cells:
        for seed in {r.seed for r in records} if cell.column.mean_of else ():
            prefix = cell.id.rpartition("/")[0]
            parts = [known.get((f"{prefix}/{column}", seed)) for column in cell.column.mean_of]
            if all(parts):
                found.append(_average(plan, cell, seed, parts))
    return found


def _average(plan: Plan, cell, seed: int | None, parts: list[Record]) -> Record:
    import hashlib

    whole = Measurement(
        cell,
        seed,
        (),
        "",
        {k: v for r in parts for k, v in r.readings.items()},
        {k: v for r in parts for k, v in r.substitutes.items()},
    )
    identity = hashlib.sha256(canonical([r.fingerprint for r in parts]).encode()).hexdigest()
    value = sum(r.measured for r in parts) / len(parts)
    return _record(
        whole, plan.scale.name, value, identity, sum(r.queries for r in parts), sum(r.missing for r in parts)
    )


def _record(
    measurement: Measurement, scale: str, value: float, fingerprint: str, queries: int, missing: int
) -> Record:
    return Record(
        cell=measurement.cell.id,
        scale=scale,
        measured=value,
        seed=measurement.seed,
        fingerprint=fingerprint,
        queries=queries,
        missing=missing,
        readings=dict(measurement.departures),
        substitutes=dict(measurement.substitutes),
        environment=_environment(),
        recorded=datetime.now(UTC).isoformat(timespec="seconds"),
    )


@functools.cache
def _environment() -> dict:
    """Commit, versions and hardware: what a reader needs to judge a small difference."""
    from repro.locations import CHECKOUT
    from repro.machine import commit, hardware, software

    return {"commit": commit(CHECKOUT), "software": software(), "hardware": hardware()}
