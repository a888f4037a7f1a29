"""Comparison of published and measured numbers, with a verdict on every cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from repro.graph import Node, grouped
from repro.hooks import notes
from repro.manifest.cells import Cell, cell, cells_of
from repro.manifest.printed import PublishedCell
from repro.running.plan import Plan
from repro.running.plan import plan as planned
from repro.running.recipe_calls import not_at
from repro.running.records import identities, known_records, stored_records
from repro.running.scale import known_scales
from repro.running.workspace import Workspace
from repro.store import Store
from repro.store.results import Record, Results
from repro.verdicts.compared import ComparedCell, Comparison, ImportedRun
from repro.verdicts.decision import Basis, code_counts, decide, doubts, is_changed
from repro.verdicts.evidence import Evidence, libraries_not_compared
from repro.verdicts.verdict import Case, Doubt, Tolerance, Verdict, exact_decimal, implied_class, tolerance

if TYPE_CHECKING:
    from repro.running.provenance import Origins
    from repro.running.runner import Outcome

T = TypeVar("T")
FEW = 3
K = TypeVar("K")


def compare(
    plan: Plan,
    results: Results,
    *,
    store: Store | None = None,
    outcome: Outcome | None = None,
    stated: bool = True,
) -> Comparison:
    """Judge every cell of a plan by the available records.

    Args:
        plan: with the states of its nodes looked up.
        store: for checks of records against stored scores.
        outcome: of the current run, to report its failures.
        stated: whether to add values reported elsewhere.
    """
    name = plan.scale.name
    all_records = _every_record(results, name)
    stored_results = stored_records(plan, store) if store else []
    measurements = grouped((m.cell.id, m) for m in plan.measurements)
    records = grouped((r.cell, r) for r in all_records)
    other_results = grouped((r.cell, r) for r in [*known_records(plan, all_records), *stored_results])
    by_cell, origin = identities(plan), _origins(plan, store) if store else None
    released = _every_record(results.compared, name) if results.compared else []
    on_record = grouped((r.identity, r) for r in [*all_records, *released])
    evidence = (
        Evidence(
            c,
            plan,
            measurements[c.id],
            by_cell.get(c.id, {}),
            records[c.id],
            other_results[c.id],
            outcome,
            origin,
            on_record,
        )
        for c in plan.cells
    )
    faults = [*(_damages(plan, store) if store else ())]
    problem = "its last line is cut off and ignored. Restore it or measure it again"
    faults += [f"unfinished: {path}: {problem}" for path in results.unfinished(name)]
    cells = [judge(each) for each in evidence]
    if stated:
        cells = [replace(c, notes=notes(c.cell)) for c in cells]
    return Comparison(cells, origins=origin, faults=tuple(faults))


def _origins(plan: Plan, store: Store) -> Origins | None:
    if "stored" not in plan.states.values():
        return None
    from repro.running.provenance import origins

    return origins(plan, store)


def _damages(plan: Plan, store: Store) -> Iterator[str]:
    nodes = [node for node in plan.nodes if plan.states.get(node.fingerprint) == "damaged"]
    if not nodes:
        return
    from repro.store.seal import damage, wrong_sizes

    for path in map(store.path, nodes[:FEW]):
        yield f"damaged: {path}: {'; '.join(wrong_sizes(path) or damage(path))}"
    more = f"{len(nodes) - FEW} more are damaged; " if nodes[FEW:] else ""
    yield f"{more}`repro store verify --rebuild` removes damaged artefacts, `repro run` builds them again"


def _every_record(results: Results, scale: str) -> list[Record]:
    return [r for paper in results.papers(scale) for r in results.read(scale, paper)]


def judged_cells(plan: Plan, results: Results, store: Store, *, stated: bool = True) -> Comparison:
    """Return ``compare`` with the stored tests. Looks up the plan's states if necessary."""
    if not plan.states:
        plan.look(store)
    comparison = compare(plan, results, store=store, stated=stated)
    if "stored" not in plan.states.values():
        return comparison
    from repro.verdicts.row_tests import stored_paired_tests, stored_tests

    comparison.tests.update(stored_tests(plan, store))
    comparison.paired.update(stored_paired_tests(comparison, plan, store))
    return comparison


def judge(evidence: Evidence) -> ComparedCell:
    """Judge a cell by a failure of the current run, otherwise by current records, otherwise by older ones."""
    failure = _failure(evidence)
    if not failure:
        current = [result or record for record, result in evidence.current]
        if records := current or evidence.older:
            return _measured(evidence, records)
    obstacles = () if failure else evidence.obstacles
    cause = obstacles[0].cause if obstacles else ""
    idle = "" if failure or cause else _why_idle(evidence)
    case = Case(evidence.cell.printed, failure=failure, obstacle=cause, idle=idle)
    return _compared(evidence, decide(case), records=(), obstacles=obstacles)


def _measured(evidence: Evidence, records: Sequence[Record]) -> ComparedCell:
    basis = Basis(records, code_counts(evidence, records), evidence)
    decided = decide(_case(evidence.cell, basis, evidence.plan.scale.name, _tolerance(evidence)))
    reasons = doubts(basis)
    why = "; ".join(filter(None, [decided.why, evidence.authors_model, *map(str, reasons)]))
    return _compared(
        evidence,
        replace(decided, why=why),
        records=tuple(records),
        doubts=reasons,
        code=basis.counts,
        libraries_not_compared=libraries_not_compared(evidence, basis.circumstances),
    )


def _compared(evidence: Evidence, verdict: Verdict, **facts: Any) -> ComparedCell:
    parts = [node for m in evidence.measurements for node in m.parts]
    return ComparedCell(
        cell=evidence.cell,
        scale=evidence.plan.scale.name,
        verdict=verdict,
        imported=tuple(imported_run(evidence.cell, r, parts) for r in evidence.imported),
        collections=evidence.collections,
        cut_at=evidence.cut_at,
        **facts,
    )


def _case(cell: Cell, basis: Basis, scale: str, width: Tolerance | None) -> Case:
    values = [exact_decimal(r.measured) for r in basis.records]
    rivals = _rivals(cell) if scale == "full" else ()
    return Case(cell.printed, values, scale, is_changed(basis), width, rivals=rivals)


def _rivals(cell: Cell) -> list[PublishedCell]:
    columns = [column.id for column in cell.table.columns]
    others = cells_of(cell.paper, (cell.table,))[columns.index(cell.column.id) :: len(columns)]
    others = [c for c in others if c.is_numeric and c.row.id != cell.row.id]
    return [c.printed for c in others if not c.printed.bound and c.unit == cell.unit]


def _failure(evidence: Evidence) -> str:
    failures = evidence.outcome.failed if evidence.outcome else {}
    names = [part.fingerprint for m in evidence.measured_by for part in m.parts]
    errors = [failures[name] for name in names if name in failures]
    if not errors:
        return ""
    if not (older := evidence.older):
        return str(errors[0])
    values = ", ".join(f"{r.measured:.6g}" for r in older)
    reasons = doubts(Basis(older, code_counts(evidence, older), evidence))
    return "; ".join([str(errors[0]), f"on record: {values}", *map(str, reasons)])


def _why_idle(evidence: Evidence) -> str:
    cell = evidence.cell
    if refusal := not_at(cell, evidence.plan.scale):
        reason = refusal
    elif cell.recipe and not cell.column.not_measurable:
        is_defined = cell.column.dataset or cell.column.mean_of
        reason = "nothing recorded yet" if is_defined else "its column has no dataset and measure yet"
    else:
        reason = cell.column.not_measurable or cell.row.not_measurable or "no recipe makes this row yet"
    return "; ".join([reason, *_scoring_differences(evidence)])


def _scoring_differences(evidence: Evidence) -> list[str]:
    measure, unit = evidence.definition
    recorded = (
        (r.measure or "an unknown measure", r.unit or "an unknown unit") for r in evidence.of_readings
    )
    measures = {" in ".join(names) for names in recorded}
    digests = {r.origin.get("sha256") for r in evidence.imported}
    unscored = [r.origin for r in evidence.records if r.origin and r.origin.get("sha256") not in digests]
    files = [] if evidence.departures else dict.fromkeys(str(origin.get("file")) for origin in unscored)
    listing = " and ".join(sorted(measures))
    sentences = [f"recorded as {listing}, but the cell is {measure} in {unit}"] if measures else []
    return sentences + [f"{file} was scored in another way than the cell: import it again" for file in files]


def _tolerance(evidence: Evidence) -> Tolerance | None:
    cell = evidence.cell
    measure = cell.column.measure or next((m.cell.column.measure for m in evidence.measured_by), None)
    name = cell.row.tolerance or implied_class(node for m in evidence.measured_by for node in m.parts)
    return tolerance(name, measure, unit=cell.unit, published=cell.printed.value)


def imported_run(cell: Cell, record: Record, nodes: Iterable[Node]) -> ImportedRun:
    """Judge a run by others under its own readings. ``nodes`` of the recipe give the tolerance."""
    basis = Basis([record])
    reasons = doubts(basis)
    decided = decide(_case(cell, basis, "full", _tolerance_of_run(cell, list(nodes))))
    if record.readings and decided.name == "not comparable":
        choices = ", ".join(f"{reading} is {choice}" for reading, choice in record.readings.items())
        decided = replace(decided, why=f"it follows other choices than the row: {choices}")
    run = ImportedRun(record, decided, reasons)
    made_by = ", ".join(filter(None, [record.origin.get("toolkit"), run.settings]))
    name = f"{run.file} ({made_by})" if made_by else run.file
    why = "; ".join([decided.why, *map(str, reasons)])
    return replace(run, verdict=replace(decided, why=f"run by others, {name}: {why}"))


def _tolerance_of_run(cell: Cell, nodes: list[Node]) -> Tolerance | None:
    if not (cell.row.tolerance or nodes):
        return None
    name = cell.row.tolerance or implied_class(nodes).replace("retrained", "re-encoded")
    return tolerance(name, cell.column.measure, unit=cell.unit, published=cell.printed.value)


def standings(measured_cell: Cell, workspace: Workspace) -> list[ComparedCell]:
    """Judge a cell at scale full and at each scale with a record of it."""
    compared_cells = []
    for name, scale in known_scales().items():
        records = workspace.results.read(name, measured_cell.paper.name)
        is_recorded = any(r.cell == measured_cell.id for r in records)
        if is_recorded or scale.compares_with_paper:
            cell_plan = planned([measured_cell], scale=scale, machine=workspace.machine)
            cell_plan.look(workspace.store)
            compared_cells += compare(cell_plan, workspace.results, store=workspace.store).cells
    return compared_cells


def doubts_of(record: Record, workspace: Workspace) -> tuple[Doubt, ...]:
    """Return the doubts about a record, whether or not its cell shows it."""
    matches = [c for c in standings(cell(record.cell), workspace) if c.scale == record.scale]
    if shown := [c for c in matches if record.identity in {r.identity for r in c.records}]:
        return shown[0].doubts
    why = "its cell shows another record: of another recipe, seed or choice, or of a run by others"
    return (*(() if record.origin else (Doubt("outdated", why),)), *doubts(Basis([record])))
