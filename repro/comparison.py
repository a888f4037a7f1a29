"""Print beside measurement: a verdict per cell, and tests between the rows of a table that ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro.errors import ReproError
from repro.evaluation.tolerance import UNITS, Tolerance, tolerance
from repro.evaluation.verdict import Verdict, verdict
from repro.graph import Node, walk
from repro.manifest.cells import Cell
from repro.measurement import Measurement
from repro.plan import Plan
from repro.progress import Progress
from repro.requirements import Obstacle
from repro.results import Record, Results
from repro.runner import Engine, Outcome
from repro.store import Store, read_json


@dataclass(frozen=True)
class Compared:
    """One cell of print with what was measured for it.

    Attributes:
        records: one per distinct measurement (seeds that change nothing count once).
        verdict: the name, and why.
        obstacles: what stands in the way, for a cell that is blocked.
        current: whether the records come from the graph as it is now; older ones stay, and say so.
    """

    cell: Cell
    scale: str
    records: tuple[Record, ...]
    verdict: Verdict
    obstacles: tuple[Obstacle, ...] = ()
    current: bool = True

    @property
    def measured(self) -> float | None:
        """The mean over seeds in print's unit; None when nothing was measured."""
        if not self.records:
            return None
        return sum(r.measured for r in self.records) / len(self.records)

    def as_json(self) -> dict:
        """The record that ``run``, ``compare`` and ``status`` print with ``--json``."""
        first = self.records[0] if self.records else None
        return {
            "id": self.cell.id, "printed": self.cell.text, "measured": self.measured,
            "verdict": self.verdict.name, "why": self.verdict.why, "scale": self.scale,
            "unit": self.cell.unit, "seeds": [r.seed for r in self.records],
            "fingerprint": first.fingerprint if first else None,
            "fingerprints": [r.fingerprint for r in self.records], "current": self.current,
            "queries": first.queries if first else None, "missing": first.missing if first else None,
            "readings": first.readings if first else {}, "substitutes": first.substitutes if first else {},
            "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in self.obstacles],
        }  # fmt: skip


@dataclass
class Comparison:
    """A plan's cells compared, with the tests between rows.

    Attributes:
        cells: in the order of the selection.
        tests: (paper, table, dataset) -> what significance.json says.
        untested: why tests that were due could not be computed.
    """

    cells: list[Compared]
    tests: dict[tuple[str, str, str], dict] = field(default_factory=dict)
    untested: list[str] = field(default_factory=list)

    def counts(self) -> Counter:
        """How often each verdict was given."""
        return Counter(c.verdict.name for c in self.cells)

    def betters(self, compared: Compared) -> list[str]:
        """Ids of the rows that this cell's row beats significantly, by the test of its table."""
        cell = compared.cell
        test = self.tests.get((cell.paper.name, cell.table.id, cell.column.dataset or ""))
        found = (test or {}).get("measures", {}).get(cell.column.measure)
        if not found or cell.row.id not in found["names"]:
            return []
        mine = found["names"].index(cell.row.id)
        return [
            name
            for other, name in enumerate(found["names"])
            if other != mine
            and found["p"][mine][other] is not None
            and found["p"][mine][other] <= test["max_p"]
            and found["means"][mine] > found["means"][other]
        ]


def compare(plan: Plan, results: Results, *, outcome: Outcome | None = None) -> Comparison:
    """Judge every selected cell by the records there are; nothing is run.

    Args:
        plan: with its node states looked up.
        outcome: of the run just made, so that failures and obstacles are told.
    """
    by_cell: dict[str, list[Measurement]] = {}
    for m in plan.measurements:
        by_cell.setdefault(m.cell.id, []).append(m)
    books = {
        name: _by_cell(results.read(plan.scale.name, name)) for name in {c.paper.name for c in plan.cells}
    }
    return Comparison(
        [
            _judge(c, plan, by_cell.get(c.id, []), books[c.paper.name].get(c.id, []), outcome)
            for c in plan.cells
        ]
    )


def _by_cell(records: list[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.cell, []).append(record)
    return found


def _judge(
    cell: Cell, plan: Plan, ours: list[Measurement], records: list[Record], outcome: Outcome | None
) -> Compared:
    expected = {m.fingerprint for m in ours}
    departures = dict(ours[0].departures) if ours else _departures(plan, cell)
    alike = [r for r in records if r.readings == departures]
    current = [r for r in alike if r.fingerprint in expected]
    chosen = tuple({r.fingerprint: r for r in _newest(current or alike)}.values())
    if chosen:
        name = verdict(
            cell.printed,
            [r.measured for r in chosen],
            scale=plan.scale.name,
            modified=bool(departures or chosen[0].substitutes),
            tolerance=_tolerance(cell, _parts(cell, plan, ours)),
        )
        return Compared(
            cell, plan.scale.name, chosen, name, current=bool(current) or bool(cell.column.mean_of)
        )
    obstacles = tuple(
        dict.fromkeys(o for m in _parts(cell, plan, ours) for p in m.parts for o in plan.obstacles(p))
    )
    failure = next((outcome.failed[p.fingerprint] for m in ours for p in m.parts
                    if outcome and p.fingerprint in outcome.failed), None)  # fmt: skip
    if failure:
        return Compared(cell, plan.scale.name, (), Verdict("failed", failure))
    if obstacles:
        return Compared(cell, plan.scale.name, (), Verdict("blocked", obstacles[0].cause), obstacles)
    why = "no recipe makes this row yet" if not cell.recipe else "nothing recorded yet"
    return Compared(cell, plan.scale.name, (), Verdict("not run", why))


def _parts(cell: Cell, plan: Plan, ours: list[Measurement]) -> list[Measurement]:
    """The measurements of a cell or, for an average, of the cells it averages."""
    if not cell.column.mean_of:
        return ours
    prefix = cell.id.rpartition("/")[0]
    wanted = {f"{prefix}/{column}" for column in cell.column.mean_of}
    return [m for m in plan.measurements if m.cell.id in wanted]


def _tolerance(cell: Cell, ours: list[Measurement]) -> Tolerance | None:
    """The class the row states, else what its graph implies: trained again, re-encoded, deterministic."""
    stages = {node.stage for m in ours for node in walk(m.parts)}
    implied = "retrained" if stages & {"pretrain", "finetune"} else "deterministic"
    if "backbone" in stages and implied == "deterministic":
        implied = "re-encoded"
    if cell.unit not in UNITS:
        return None
    parts = [cell.column] if cell.column.measure else [m.cell.column for m in ours]
    measure = next((c.measure for c in parts), None)
    return tolerance(cell.row.tolerance or implied, measure, unit=cell.unit) if measure else None


def _departures(plan: Plan, cell: Cell) -> dict[str, str]:
    """An average departs from the default where the cells it averages do."""
    return {k: v for m in _parts(cell, plan, []) for k, v in m.departures.items()}


def _newest(records: list[Record]) -> list[Record]:
    """The last record of every seed, in the order of seeds; the paper's own first."""
    last = {r.seed: r for r in records}
    return [last[seed] for seed in sorted(last, key=lambda s: (s is not None, s or 0))]


def tests(plan: Plan, store: Store) -> dict[tuple[str, str, str], Node]:
    """A node per table and dataset that compares the rows whose runs are stored; fewer than two give none."""
    runs: dict[tuple[str, str, str], dict[str, Node]] = {}
    measures: dict[tuple[str, str, str], set[str]] = {}
    for m in plan.measurements:
        if len(m.parts) > 1 or m.parts[0].params.get("judgements") != "qrels":
            continue
        if plan.states[m.parts[0].fingerprint] != "stored" or store.state(m.runs[0]) != "stored":
            continue
        key = (m.cell.paper.name, m.cell.table.id, m.cell.column.dataset)
        runs.setdefault(key, {}).setdefault(m.cell.row.id, m.parts[0])
        measures.setdefault(key, set()).add(m.measure)
    return {key: _test(rows, sorted(measures[key])) for key, rows in runs.items() if len(rows) > 1}


def _test(rows: Mapping[str, Node], measures: list[str]) -> Node:
    first = next(iter(rows.values()))
    return Node(
        "compare",
        {
            "measures": measures,
            "names": list(rows),
            "ignore_identical_ids": first.params["ignore_identical_ids"],
        },
        {"runs": tuple(part.inputs["run"] for part in rows.values()), "qrels": first.inputs["qrels"]},
    )


def run_tests(comparison: Comparison, plan: Plan, store: Store, engine: Engine, progress: Progress) -> None:
    """Add the tests between rows, computing those not stored yet; what fails is told."""
    for key, node in tests(plan, store).items():
        try:
            if store.state(node) == "damaged":
                store.discard(node)
            if store.state(node) != "stored":
                progress.note(f"  comparing rows of {key[0]} table {key[1]} on {key[2]}")
                engine(node, store, progress)
            comparison.tests[key] = read_json(store.path(node) / "significance.json")
        except ReproError as error:
            comparison.untested.append(str(error))
