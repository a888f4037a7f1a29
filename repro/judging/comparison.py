"""Print beside measurement: a verdict per cell, and tests between the rows of a table that ran."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from repro.graph import walk
from repro.judging.effects import Effect, effects, orders
from repro.judging.imported import beside_imports, imported_verdict
from repro.judging.row_tests import run_tests as run_tests
from repro.judging.row_tests import tests as tests
from repro.judging.tolerance import UNITS, Tolerance, tolerance
from repro.judging.verdict import Verdict, verdict
from repro.manifest.cells import Cell
from repro.manifest.schema import Reading
from repro.running.measurement import Measurement, not_at
from repro.running.plan import Plan
from repro.running.requirements import Obstacle
from repro.running.runner import Outcome
from repro.store import Store, read_json
from repro.store.results import Record, Results

# of significance.json, for a pair of rows
PAIRS = (
    "difference",
    "interval",
    "effect_size",
    "p",
    "holm_student_p",
    "permutation_p",
    "holm_p",
    "wins",
    "ties",
    "losses",
)


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
            "id": self.cell.id,
            "printed": self.cell.text,
            "measured": self.measured,
            "verdict": self.verdict.name,
            "why": self.verdict.why,
            "scale": self.scale,
            "unit": self.cell.unit,
            "seeds": [r.seed for r in self.records],
            "fingerprint": first.fingerprint if first else None,
            "fingerprints": [r.fingerprint for r in self.records],
            "current": self.current,
            "queries": first.queries if first else None,
            "missing": first.missing if first else None,
            "readings": first.readings if first else {},
            "substitutes": first.substitutes if first else {},
            "origin": first.origin if first else {},
            "blocked": [{"cause": o.cause, "remedy": o.remedy} for o in self.obstacles],
        }


@dataclass
class Comparison:
    """A plan's cells compared, with the tests between rows.

    Attributes:
        cells: in the order of the selection.
        tests: (paper, table, dataset) -> what significance.json says.
        untested: why tests that were due could not be computed.
        readings: cell -> the readings that its number rests on, by id; filled for a report.
    """

    cells: list[Compared]
    tests: dict[tuple[str, str, str], dict] = field(default_factory=dict)
    untested: list[str] = field(default_factory=list)
    readings: dict[str, dict[str, Reading]] = field(default_factory=dict)

    def counts(self) -> Counter:
        """How often each verdict was given."""
        return Counter(c.verdict.name for c in self.cells)

    def betters(self, compared: Compared) -> list[str]:
        """Ids of the rows that this cell's row beats significantly, by the test of its table."""
        found, max_p = self._test(compared)
        if not found:
            return []
        mine = found["names"].index(compared.cell.row.id)
        return [
            name
            for other, name in enumerate(found["names"])
            if other != mine
            and found["p"][mine][other] is not None
            and found["p"][mine][other] <= max_p
            and found["means"][mine] > found["means"][other]
        ]

    def pairs(self, compared: Compared) -> list[dict]:
        """The tests of this cell's row against every other row of its table with a stored run.

        Differences are fractions, this row's less the other's; Holm's family is the tests of this cell.
        """
        found, _ = self._test(compared)
        if not found:
            return []
        mine = found["names"].index(compared.cell.row.id)
        others = [other for other in range(len(found["names"])) if other != mine]
        return [{"over": found["names"][o]} | {key: found[key][mine][o] for key in PAIRS} for o in others]

    def _test(self, compared: Compared) -> tuple[dict, float]:
        """What the test of a cell's column says, and its level; nothing where its row has no part in one."""
        cell = compared.cell
        test = self.tests.get((cell.paper.name, cell.table.id, cell.column.dataset or ""), {})
        found = test.get("measures", {}).get(cell.column.measure, {})
        return (found, test["max_p"]) if cell.row.id in found.get("names", ()) else ({}, 0.0)

    def as_json(self) -> list[dict]:
        """A record per cell: print and ours, the tests between rows, what stands against print."""
        by_table: dict[tuple[str, str], list[Compared]] = {}
        for c in self.cells:
            by_table.setdefault((c.cell.paper.name, c.cell.table.id), []).append(c)
        against = {key: (effects(cells), orders(cells)) for key, cells in by_table.items()}
        return [
            c.as_json() | {"tests": self.pairs(c)} | _against(c, *against[c.cell.paper.name, c.cell.table.id])
            for c in self.cells
        ]


def _against(compared: Compared, gains: list[Effect], taus: dict[str, tuple[float, int]]) -> dict:
    """Gains and order of a cell's row and column, for its record."""
    row, column = compared.cell.row.id, compared.cell.column.id
    tau, rows = taus.get(column, (None, 0))
    return {
        "effects": [e.as_json() for e in gains if (e.row, e.column) == (row, column)],
        "order": None if tau is None else {"tau": tau, "rows": rows},
    }


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


def judged_cells(plan: Plan, results: Results, store: Store) -> Comparison:
    """The cells beside print, with the tests between rows that are stored; nothing is run, not even tests."""
    plan.look(store)
    comparison = compare(plan, results)
    for key, node in tests(plan, store).items():
        if store.state(node) == "stored":
            comparison.tests[key] = read_json(store.path(node) / "significance.json")
    return comparison


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
    imported = [r for r in records if r.origin]
    alike = [r for r in records if r.readings == departures and not r.origin]
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
        name = beside_imports(name, imported)
        return Compared(
            cell, plan.scale.name, chosen, name, current=bool(current) or bool(cell.column.mean_of)
        )
    obstacles = tuple(
        dict.fromkeys(o for m in _parts(cell, plan, ours) for p in m.parts for o in plan.obstacles(p))
    )
    failure = next(
        (
            outcome.failed[p.fingerprint]
            for m in ours
            for p in m.parts
            if outcome and p.fingerprint in outcome.failed
        ),
        None,
    )
    if failure:
        return Compared(cell, plan.scale.name, (), Verdict("failed", failure))
    if imported and not set(departures) - {k for m in ours for k in m.substitutes}:
        return Compared(cell, plan.scale.name, (imported[-1],), imported_verdict(cell, imported))
    if obstacles:
        return Compared(cell, plan.scale.name, (), Verdict("blocked", obstacles[0].cause), obstacles)
    why = cell.column.not_measurable or cell.row.not_measurable or "no recipe makes this row yet"
    why = why if not cell.recipe or cell.column.not_measurable else "nothing recorded yet"
    why = not_at(cell, plan.scale) or why
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
    if stages & {"backbone", "released"} and implied == "deterministic":
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
