"""Published and measured numbers side by side: a verdict for every cell of a plan."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from repro.graph import walk
from repro.judging.compared import Compared, Comparison
from repro.judging.effects import Effect, effects, orders
from repro.judging.imported import imported_verdict, with_imported_runs
from repro.judging.row_tests import stored_tests
from repro.judging.tolerance import UNITS, Tolerance, tolerance
from repro.judging.verdict import Verdict, verdict
from repro.manifest.cells import Cell
from repro.running.measurement import Measurement, not_at
from repro.running.plan import Plan
from repro.running.runner import Outcome
from repro.store import Store
from repro.store.results import Record, Results


def compare(plan: Plan, results: Results, *, outcome: Outcome | None = None) -> Comparison:
    """Judge every selected cell by the records there are; nothing is run.

    Args:
        plan: with its node states looked up.
        outcome: of the run just made, so that failures are told.
    """
    measurements, records = defaultdict(list), defaultdict(list)
    for measurement in plan.measurements:
        measurements[measurement.cell.id].append(measurement)
    for paper in {c.paper.name for c in plan.cells}:
        for record in results.read(plan.scale.name, paper):
            records[record.cell].append(record)
    cases = (_Case(c, plan, measurements[c.id], records[c.id], outcome) for c in plan.cells)
    return Comparison([_judge(case) for case in cases])


def judged_cells(plan: Plan, results: Results, store: Store) -> Comparison:
    """Compare the plan's cells, with the tests between rows that are stored; not even tests are run."""
    plan.look(store)
    comparison = compare(plan, results)
    comparison.tests.update(stored_tests(plan, store))
    return comparison


def cells_as_json(comparison: Comparison) -> list[dict]:
    """An object per cell: published and measured, tests between rows, effects, order of the rows."""
    against = {key: (effects(cells), orders(cells)) for key, cells in comparison.by_table().items()}
    return [
        c.as_json()
        | {"tests": comparison.pairs(c)}
        | _effects_and_order(c, *against[c.cell.paper.name, c.cell.table.id])
        for c in comparison.cells
    ]


def _effects_and_order(compared: Compared, gains: list[Effect], taus: dict[str, tuple[float, int]]) -> dict:
    row, column = compared.cell.row.id, compared.cell.column.id
    tau, rows = taus.get(column, (None, 0))
    return {
        "effects": [e.as_json() for e in gains if (e.row, e.column) == (row, column)],
        "order": None if tau is None else {"tau": tau, "rows": rows},
    }


@dataclass(frozen=True)
class _Case:
    """Everything that a verdict on one cell may rest on.

    Attributes:
        measurements: of the cell, one per seed; none for an average or a cell without a recipe.
        records: all of the cell at the plan's scale.
        outcome: of the run just made, if one was.
    """

    cell: Cell
    plan: Plan
    measurements: list[Measurement]
    records: list[Record]
    outcome: Outcome | None

    @cached_property
    def parts(self) -> list[Measurement]:
        """The measurements of the cell or, for an average, of the cells it averages."""
        if not self.cell.column.mean_of:
            return self.measurements
        prefix = self.cell.id.rpartition("/")[0]
        wanted = {f"{prefix}/{column}" for column in self.cell.column.mean_of}
        return [m for m in self.plan.measurements if m.cell.id in wanted]

    @cached_property
    def departures(self) -> dict[str, str]:
        """Readings that are not the default; an average departs where the cells it averages do."""
        if self.measurements:
            return dict(self.measurements[0].departures)
        return {k: v for m in self.parts for k, v in m.departures.items()}

    @property
    def imported(self) -> list[Record]:
        """Records of runs that others made."""
        return [r for r in self.records if r.origin]

    def compared(self, verdict: Verdict, records: Iterable[Record] = ()) -> Compared:
        return Compared(self.cell, self.plan.scale.name, tuple(records), verdict)


def _judge(case: _Case) -> Compared:
    """The strongest thing that can be said of a cell, the strongest first."""
    return _recorded(case) or _failed(case) or _imported(case) or _blocked(case) or _not_run(case)


def _recorded(case: _Case) -> Compared | None:
    """Judge by the suite's records of these readings: those of the graph as it is now, else older ones."""
    ours = [r for r in case.records if r.readings == case.departures and not r.origin]
    if not ours:
        return None
    expected = {m.fingerprint for m in case.measurements}
    current = [r for r in ours if r.fingerprint in expected]
    chosen = list({r.fingerprint: r for r in _newest(current or ours)}.values())
    judged = verdict(
        case.cell.printed,
        [r.measured for r in chosen],
        scale=case.plan.scale.name,
        modified=bool(case.departures or chosen[0].substitutes),
        tolerance=_tolerance(case),
    )
    is_current = bool(current) or bool(case.cell.column.mean_of)
    compared = case.compared(with_imported_runs(judged, case.imported), chosen)
    return replace(compared, current=is_current)


def _failed(case: _Case) -> Compared | None:
    """Judge by a stage that failed in the run just made."""
    failed = case.outcome.failed if case.outcome else {}
    errors = [failed[p.fingerprint] for m in case.measurements for p in m.parts if p.fingerprint in failed]
    return case.compared(Verdict("failed", str(errors[0]))) if errors else None


def _imported(case: _Case) -> Compared | None:
    """Judge by runs that others made, which say nothing of a reading that the user chose."""
    substituted = {reading for m in case.measurements for reading in m.substitutes}
    if not case.imported or set(case.departures) - substituted:
        return None
    return case.compared(imported_verdict(case.cell, case.imported), case.imported[-1:])


def _blocked(case: _Case) -> Compared | None:
    """Judge by the obstacles in the way of its nodes."""
    nodes = [part for m in case.parts for part in m.parts]
    obstacles = tuple(dict.fromkeys(o for node in nodes for o in case.plan.obstacles(node)))
    if not obstacles:
        return None
    return replace(case.compared(Verdict("blocked", obstacles[0].cause)), obstacles=obstacles)


def _not_run(case: _Case) -> Compared:
    """Neither measured nor tried: because it cannot be at all, or not at this scale, or was not asked for."""
    cell = case.cell
    if scale_refuses := not_at(cell, case.plan.scale):
        why = scale_refuses
    elif cell.recipe and not cell.column.not_measurable:
        why = "nothing recorded yet"
    else:
        why = cell.column.not_measurable or cell.row.not_measurable or "no recipe makes this row yet"
    return case.compared(Verdict("not run", why))


def _tolerance(case: _Case) -> Tolerance | None:
    """The class the row states, else the one its graph implies: trained again, re-encoded, deterministic."""
    cell = case.cell
    measures = [cell.column.measure] if cell.column.measure else [m.cell.column.measure for m in case.parts]
    if cell.unit not in UNITS or not any(measures[:1]):
        return None
    stages = {node.stage for m in case.parts for node in walk(m.parts)}
    if stages & {"pretrain", "finetune"}:
        implied = "retrained"
    else:
        implied = "re-encoded" if stages & {"backbone", "released"} else "deterministic"
    return tolerance(cell.row.tolerance or implied, measures[0], unit=cell.unit)


def _newest(records: list[Record]) -> list[Record]:
    """The last record of every seed, in the order of seeds; the paper's own first."""
    last = {r.seed: r for r in records}
    return [last[seed] for seed in sorted(last, key=lambda s: (s is not None, s or 0))]
