"""Records of measured cells, compared with earlier records."""

import contextlib
import functools
import statistics
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.errors import StoreError, first_of
from repro.graph import Node, digest_of, grouped, walk
from repro.locations import CHECKOUT
from repro.machine import system, versions
from repro.manifest.cells import Cell
from repro.retrieval.datasets.catalog import dataset, key, key_of
from repro.running.measurement import Measurement
from repro.running.plan import Plan
from repro.running.requirements import PIECES, checkpoint_key
from repro.running.workspace import keep_data
from repro.store import RECORD, Store, disk
from repro.store.results import Identity, Record, Results, join_codes, time_of

if TYPE_CHECKING:
    from repro.running.provenance import Makers

SHOWN = 3
UNKNOWN = "not said"


@dataclass(frozen=True)
class Recurrence:
    """A new record and the earlier one with the same key."""

    measured: Record
    on_record: Record

    @property
    def came_back(self) -> bool:
        """Whether the value and the numbers of queries are equal."""
        return self.measured.result == self.on_record.result

    def __str__(self) -> str:
        now, before = self.measured.measured, self.on_record.measured
        return f"{self.measured.cell} {now:.10g} ({before:.10g} on record, {now - before:+.2g})"


def recorded_before(records: Iterable[Record], results: Results | None) -> dict[tuple, Record]:
    """Return the records of the same scales and papers in ``results``, by key."""
    if results is None:
        return {}
    files = {(r.scale, r.cell.partition("/")[0]) for r in records}
    return {r.key: r for file in sorted(files) for r in results.read(*file)}


def equal_in_words(recurrences: Sequence[Recurrence]) -> Iterator[str]:
    """Yield e.g. "60 of 60 equal the record.". Yields nothing without earlier records."""
    if recurrences:
        yield f"{sum(r.came_back for r in recurrences)} of {len(recurrences)} equal the record."


def distances(recurrences: Sequence[Recurrence]) -> Iterator[str]:
    """Yield a sentence on the values that differ from earlier records, and one on likely causes."""
    others = [r for r in recurrences if not r.came_back]
    if others:
        farthest = sorted(others, key=lambda r: -abs(r.measured.measured - r.on_record.measured))
        yield f"Differs from the record: {first_of(farthest, SHOWN)}."
        causes = dict.fromkeys(cause for r in others for cause in _causes(r.measured, r.on_record))
        yield f"Likely cause: {', '.join(causes) or 'none in the records'}."


def _causes(now: Record, before: Record) -> Iterator[str]:
    yield from _other_code(now, before)
    software = [r.environment.get("software", {}) for r in (now, before)]
    # one record may list more names than the other
    named_in_one = {*software[0]} ^ {*software[1]} if all(software) else set()
    yield from _differences(*software, leave_out=("repro-bench", *named_in_one))
    pins = [r.environment.get("kernels", {}).get("pins", {}) for r in (now, before)]
    yield from (other_pins := list(_other_pins(*pins)))
    hardware = [r.environment.get("hardware", {}) for r in (now, before)]
    of_processor = ("cpu", "instructions") if other_pins or not all(pins) else ()
    yield from _differences(*hardware, only=(*of_processor, "gpu"))


def _other_code(now: Record, before: Record) -> Iterator[str]:
    commits = [(r.environment.get("commit") or UNKNOWN)[:10] for r in (now, before)]
    if not (now.code and before.code):
        yield f"perhaps other code, {_pair(*commits)}"
    elif now.code != before.code:
        yield f"other code, {_pair(*commits)}"


def _differences(
    now: Mapping, before: Mapping, *, only: Sequence[str] = (), leave_out: Sequence[str] = ()
) -> Iterator[str]:
    for name in only or dict.fromkeys([*now, *before]):
        if now.get(name) != before.get(name) and name not in leave_out:
            yield f"{name} {_pair(now.get(name), before.get(name))}"


def _other_pins(*pins: object) -> Iterator[str]:
    now, before = (p if isinstance(p, Mapping) else {"kernels": "of several kinds"} for p in pins)
    if now and before:
        yield from _differences(now, before, leave_out=("NPY_DISABLE_CPU_FEATURES",))
    elif now or before:
        yield f"kernels {_pair(*('pinned' if p else 'not pinned' for p in (now, before)))}"


def _pair(now: object, before: object) -> str:
    return f"{now or UNKNOWN} ({before or UNKNOWN} on record)"


IN_FILES = ("folder", "home", "parts")  # kinds of source
KNOWN_BY_ROWS = ("documents", "queries", "qrels")
PER_UNIT = {"percent": 100}  # of a score


def record(
    plan: Plan, store: Store, results: Results, *, on_record: Results | None = None
) -> list[Recurrence]:
    """Append new records of cells with stored evaluations. Skips damaged ones unless all are.

    Returns pairs of a record and an earlier one, from ``on_record`` or ``results``. Raises StoreError.
    """
    plan.look(store)
    nodes = _evaluations(plan)
    stored = stored_records(plan, store)
    for part in () if stored else walk(part for m in plan.measurements for part in m.parts):
        if plan.states[part.fingerprint] == "damaged":
            scores_of(part, store)
    records = [replace(r, **_circumstances(nodes[r.cell], store)) for r in stored]
    before = recorded_before(records, on_record)
    contradicted = {a.record.key: a.contradicted for a in results.append(records) if a.contradicted}
    keep_data(results, _data_of_records(plan, results))
    known = contradicted | before
    return [Recurrence(r, known[r.key]) for r in records if r.key in known]


def _data_of_records(plan: Plan, results: Results) -> dict[str, str]:
    papers = {m.cell.paper.name for m in plan.measurements}
    recorded = {r.identity for name in sorted(papers) for r in results.read(plan.scale.name, name)}
    nodes = walk(part for m in plan.measurements if m.identity in recorded for part in m.parts)
    files = (n for n in nodes if n.params.get("source", {}).get("kind") in IN_FILES)
    return {_name_of(node): node.params["identity"] for node in files}


def _name_of(node: Node) -> str:
    if piece := PIECES.get(node.stage):
        return key(node.params["dataset"], piece)
    return checkpoint_key(node.params)


def stored_records(plan: Plan, store: Store) -> list[Record]:
    """Return records without time and machine. Marks damaged evaluations in ``plan.states``."""
    stored = [m for m in plan.measurements if all(plan.states[p.fingerprint] == "stored" for p in m.parts)]
    if not stored:
        return []
    from repro.running.provenance import Makers
    from repro.store import seal

    records, makers = [], Makers(store)
    for m in stored:
        try:
            bare_record = _bare_record(m, plan.scale.name, store, makers)
            records.append(replace(bare_record, scale_facts=plan.scale.digest))
        except StoreError:
            faulty = filter(lambda part: seal.damage(store.path(part)), m.parts)
            plan.states |= {part.fingerprint: "damaged" for part in faulty}
    return records + averages(plan, records)


def known_records(plan: Plan, records: Iterable[Record]) -> list[Record]:
    """Return the newest records of a plan's cells, and of columns that average them."""
    newest = {r.identity: r for r in sorted(records, key=time_of) if not r.origin}
    parts = [
        replace(newest[m.identity], cell=m.cell.id, seed=m.seed, readings=dict(m.departures))
        for m in plan.measurements
        if m.identity in newest
    ]
    return parts + averages(plan, parts)


def measured_record(measurement: Measurement, scale: str, store: Store) -> Record:
    """Return the record of a cell: the mean of its best group of runs."""
    from repro.running.provenance import Makers

    bare_record = _bare_record(measurement, scale, store, Makers(store))
    return replace(bare_record, **_circumstances(measurement.parts, store))


def _bare_record(measurement: Measurement, scale: str, store: Store, makers: "Makers") -> Record:
    means: dict[str, float] = {}
    queries: dict[str, int] = {}
    missing: dict[str, int] = {}
    contents = [scores_of(part, store) for part in measurement.parts]
    for part, scores in zip(measurement.parts, contents, strict=True):
        judgements = (part.input("qrels") if "qrels" in part.inputs else part).fingerprint
        values = scores["measures"][measurement.measure]
        means[part.fingerprint] = sum(values) / len(values)
        queries[judgements] = len(values)
        missing[judgements] = max(missing.get(judgements, 0), len(scores["missing"]))
    value = max(_mean([means[p.fingerprint] for p in group]) for group in measurement.groups)
    return Record(
        cell=measurement.cell.id,
        scale=scale,
        measured=value * PER_UNIT.get(measurement.cell.unit, 1),
        seed=measurement.seed,
        fingerprint=measurement.fingerprint,
        queries=sum(queries.values()),
        missing=sum(missing.values()),
        measure=measurement.measure,
        unit=measurement.cell.unit,
        readings=dict(measurement.departures),
        substitutes=dict(measurement.substitutes),
        collections=list(measurement.collections),
        deviation=_deviation(measurement, contents),
        rows=_rows(measurement, makers),
        **makers.behind(measurement.parts),
    )


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if len(set(values)) > 1 else values[0]


def _rows(measurement: Measurement, makers: "Makers") -> dict[str, str]:
    rows: dict[str, str] = {}
    for node in walk(measurement.parts):
        if piece := PIECES.get(node.stage):
            digest = str(node.params.get("identity", ""))
            if piece in KNOWN_BY_ROWS:
                digest = makers.rows(node)
            name = key_of(dataset(node.params["dataset"]), piece)
            rows[name] = rows.get(name) or digest
    return rows


def _deviation(measurement: Measurement, scores: Sequence[dict]) -> float | None:
    if len(measurement.groups) > 1 or any(content["queries"] != scores[0]["queries"] for content in scores):
        return None
    values = (content["measures"][measurement.measure] for content in scores)
    by_query = [statistics.fmean(each) for each in zip(*values, strict=True)]
    return statistics.stdev(by_query) * PER_UNIT.get(measurement.cell.unit, 1) if len(by_query) > 1 else None


def scores_of(part: Node, store: Store) -> dict:
    """Return the content of a stored evaluation's scores.json. Raises StoreError if it is damaged."""
    path = store.path(part) / disk.SCORES
    status = path.stat()
    return _content(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@functools.lru_cache(maxsize=8)
def _content(path: Path, stamp: tuple[int, ...]) -> dict:
    from repro.store import seal

    return seal.read_json(path)


def averages(plan: Plan, records: Iterable[Record]) -> list[Record]:
    """Return records of columns that average other columns, if all of these are in ``records``."""
    by_cell = {(r.cell, r.seed): r for r in records}
    new_records = []
    for cell in plan.cells:
        for seed in {seed for _, seed in by_cell} if cell.column.mean_of else ():
            parts = [by_cell.get((m, seed)) for m in member_cells(cell)]
            if None not in parts:
                new_records.append(_average(cell, list(filter(None, parts))))
    return new_records


def identities(plan: Plan) -> dict[str, dict[int | None, Identity]]:
    """Return cell -> seed -> (fingerprint, measure, unit)."""
    by_cell: dict[str, dict[int | None, Identity]] = {}
    for m in plan.measurements:
        by_cell.setdefault(m.cell.id, {})[m.seed] = m.identity
    for cell in plan.cells:
        parts = [by_cell.get(member, {}) for member in member_cells(cell)]
        for seed in set.intersection(*map(set, parts)) if parts else ():
            by_cell.setdefault(cell.id, {})[seed] = _average_identity(cell, [part[seed] for part in parts])
    return by_cell


def member_cells(cell: Cell) -> list[str]:
    row = cell.row_path
    return [f"{row}/{column}" for column in cell.column.mean_of]


def _average_identity(cell: Cell, parts: list[Identity]) -> Identity:
    fingerprints, measures, _ = zip(*parts, strict=True)
    digest = digest_of(list(fingerprints))
    return digest, measures[0] if len(set(measures)) == 1 else ", ".join(measures), cell.unit


def _average(cell: Cell, parts: list[Record]) -> Record:
    fingerprint, measure, unit = _average_identity(cell, [part.identity for part in parts])
    return replace(
        parts[0],
        cell=cell.id,
        measured=sum(_in_unit(part, unit) for part in parts) / len(parts),
        fingerprint=fingerprint,
        measure=measure,
        unit=unit,
        queries=sum(r.queries for r in parts),
        missing=sum(r.missing for r in parts),
        collections=list(dict.fromkeys(chain.from_iterable(r.collections for r in parts))),
        deviation=None,
        code=join_codes(r.code for r in parts),
        commits=sorted(set(chain.from_iterable(r.commits for r in parts))),
        **{name: _merge(parts, name) for name in ("readings", "substitutes", "rows")},
    )


def _in_unit(part: Record, unit: str) -> float:
    factors = PER_UNIT.get(unit, 1), PER_UNIT.get(part.unit, 1)
    return part.measured if part.unit == unit else part.measured * factors[0] / factors[1]


def _merge(parts: list[Record], name: str) -> Any:
    return dict(ChainMap(*(getattr(part, name) for part in reversed(parts))))


def _evaluations(plan: Plan) -> dict[str, list[Node]]:
    nodes = grouped((m.cell.id, part) for m in plan.measurements for part in m.parts)
    averaged = {
        c.id: [node for member in member_cells(c) for node in nodes.get(member, ())] for c in plan.cells
    }
    return nodes | {cell: parts for cell, parts in averaged.items() if parts}


def _circumstances(evaluations: Iterable[Node], store: Store) -> dict:
    from repro.machine import kernels

    paths = (store.path(n) / RECORD for n in walk(evaluations))
    facts = [_facts(path, path.stat().st_mtime_ns) for path in paths if path.exists()]
    environment = _environment() | {"kernels": kernels.merged(one["kernels"] for one in facts)}
    environment["software"] = environment["software"] | versions.joined(one["libraries"] for one in facts)
    return {"environment": environment, "recorded": datetime.now(UTC).isoformat(timespec="seconds")}


@functools.lru_cache(maxsize=4096)
def _facts(path: Path, changed: int) -> dict[str, dict]:
    from repro.store import seal

    facts: dict = {}
    with contextlib.suppress(StoreError):
        facts = seal.read_json(path).get("facts", {})
    return {name: facts.get(name, {}) for name in ("kernels", "libraries")}


@functools.cache
def _environment() -> dict:
    commit = versions.commit(CHECKOUT)
    return {"commit": commit, "software": versions.software(), "hardware": system.hardware()}
