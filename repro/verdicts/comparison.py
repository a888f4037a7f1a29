"""Published, reported and measured numbers side by side: a verdict for every cell of a plan."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from repro.running.plan import Plan
from repro.running.provenance import origins
from repro.running.recipe_calls import not_at
from repro.running.records import identities, known_records, stored_records
from repro.running.runner import Outcome
from repro.store import Store
from repro.store.results import Record, Results
from repro.verdicts.beside import values_beside
from repro.verdicts.compared import ComparedCell, Comparison
from repro.verdicts.doubts import code_counts, doubts
from repro.verdicts.evidence import Evidence
from repro.verdicts.imported import ImportedRun, imported_run
from repro.verdicts.paired_runs import stored_paired_tests
from repro.verdicts.row_tests import stored_tests
from repro.verdicts.tolerance import UNITS, Tolerance, implied_class, tolerance
from repro.verdicts.verdict import Verdict, verdict

T = TypeVar("T")


def compare(
    plan: Plan, results: Results, *, store: Store | None = None, outcome: Outcome | None = None
) -> Comparison:
    """Judge every selected cell by the records there are; nothing is run.

    Args:
        plan: with its node states looked up.
        store: whose evaluations the records are held against; where the two differ the stored scores count.
        outcome: of the run just made, so that failures are told.
    """
    name = plan.scale.name
    # of all papers, selected or not: cells share evaluations, and one cell has one current number
    papers = sorted({*results.papers(name), *(c.paper.name for c in plan.cells)})
    all_records = [r for paper in papers for r in results.read(name, paper)]
    stored_results = stored_records(plan, store, sound_only=True) if store else []
    measurements = _by_cell(plan.measurements, lambda m: m.cell.id)
    records = _by_cell(all_records, lambda r: r.cell)
    other_results = _by_cell([*known_records(plan, all_records), *stored_results], lambda r: r.cell)
    by_cell, origin = identities(plan), origins(plan, store) if store else None
    cases = (
        Evidence(
            c,
            plan,
            measurements[c.id],
            by_cell.get(c.id, {}),
            records[c.id],
            other_results[c.id],
            outcome,
            origin,
        )
        for c in plan.cells
    )
    return Comparison([_judge(case) for case in cases], origins=origin)


def _by_cell(items: Iterable[T], cell: Callable[[T], str]) -> dict[str, list[T]]:
    groups = defaultdict(list)
    for item in items:
        groups[cell(item)].append(item)
    return groups


def judged_cells(plan: Plan, results: Results, store: Store) -> Comparison:
    """Compare the plan's cells, with the tests between rows that are stored; not even tests are run."""
    plan.look(store)
    comparison = compare(plan, results, store=store)
    comparison.tests.update(stored_tests(plan, store))
    comparison.paired.update(stored_paired_tests(comparison, plan, store))
    return comparison


def _judge(case: Evidence) -> ComparedCell:
    """Return the strongest thing that can be said of a cell, with runs of others and values beside it."""
    compared = _judge_failure(case) or _judge_records(case) or _judge_obstacles(case) or _judge_not_run(case)
    return replace(compared, imported=_imported_runs(case), beside=values_beside(case.cell))


def _compared_cell(case: Evidence, verdict: Verdict, records: Iterable[Record] = ()) -> ComparedCell:
    conditions = {"collections": case.collections, "cut_at": case.cut_at}
    return ComparedCell(case.cell, case.plan.scale.name, tuple(records), verdict, **conditions)


def _judge_failure(case: Evidence) -> ComparedCell | None:
    """Judge by a stage that failed in the run just made; an older record is not shown as measured."""
    failures = case.outcome.failed if case.outcome else {}
    errors = [failures[p.fingerprint] for m in case.parts for p in m.parts if p.fingerprint in failures]
    if not errors:
        return None
    values = ", ".join(f"{r.measured:.6g}" for r in case.older)
    reasons = doubts(case, case.older, code_counts(case, case.older)) if case.older else ()
    on_record = "; ".join([f"on record: {values}", *map(str, reasons)]) if values else ""
    return _compared_cell(case, Verdict("failed", "; ".join(filter(None, [str(errors[0]), on_record]))))


def _judge_records(case: Evidence) -> ComparedCell | None:
    """Judge by the suite's records of these readings: those of the graph as it is now, else older ones."""
    records = [result or record for record, result in case.current] or case.older
    if not records:
        return None
    counts = code_counts(case, records)
    reasons = doubts(case, records, counts)
    is_changed = (case.departures and not case.authors_model) or records[0].substitutes
    judgement = verdict(
        case.cell.printed,
        [r.measured for r in records],
        scale=case.plan.scale.name,
        changed=bool(is_changed or any(doubt.kind == "other data" for doubt in reasons)),
        tolerance=_tolerance(case),
    )
    why = "; ".join(filter(None, [judgement.why, case.authors_model, *map(str, reasons)]))
    compared = _compared_cell(case, replace(judgement, why=why), records)
    return replace(compared, doubts=reasons, code=counts)


def _imported_runs(case: Evidence) -> tuple[ImportedRun, ...]:
    """The runs that others made, each judged by itself."""
    parts = [node for m in case.measurements for node in m.parts]
    return tuple(imported_run(case.cell, r, parts) for r in case.imported)


def _judge_obstacles(case: Evidence) -> ComparedCell | None:
    """Judge by the obstacles in the way of its nodes."""
    if not case.obstacles:
        return None
    verdict = Verdict("blocked", case.obstacles[0].cause)
    return replace(_compared_cell(case, verdict), obstacles=case.obstacles)


def _judge_not_run(case: Evidence) -> ComparedCell:
    """Say why nothing was tried: it cannot be measured at all, not at this scale, or was not asked for."""
    cell = case.cell
    if refusal := not_at(cell, case.plan.scale):
        reason = refusal
    elif cell.recipe and not cell.column.not_measurable:
        reason = "nothing recorded yet"
    else:
        reason = cell.column.not_measurable or cell.row.not_measurable or "no recipe makes this row yet"
    return _compared_cell(case, Verdict("not run", "; ".join([reason, *_scoring_differences(case)])))


def _tolerance(case: Evidence) -> Tolerance | None:
    """The class the row states, else the one its graph implies: trained again, re-encoded, deterministic."""
    cell = case.cell
    measures = [cell.column.measure] if cell.column.measure else [m.cell.column.measure for m in case.parts]
    if cell.unit not in UNITS or not any(measures[:1]):
        return None
    default_class = implied_class([node for m in case.parts for node in m.parts])
    return tolerance(cell.row.tolerance or default_class, measures[0], unit=cell.unit)


def _scoring_differences(case: Evidence) -> list[str]:
    """Sentences on records of a cell that were scored by another measure than the cell."""
    measure, unit = case.definition
    measures = {
        f"{r.measure or 'an unknown measure'} in {r.unit or 'an unknown unit'}" for r in case.of_readings
    }
    digests = {r.origin.get("sha256") for r in case.imported}
    unscored_records = [r for r in case.records if r.origin and r.origin.get("sha256") not in digests]
    files = [] if case.departures else dict.fromkeys(str(r.origin.get("file")) for r in unscored_records)
    listing = " and ".join(sorted(measures))
    sentences = [f"what is recorded is {listing}, and the cell is {measure} in {unit}"] if measures else []
    return sentences + [f"{file} was scored otherwise than the cell is: import it again" for file in files]
