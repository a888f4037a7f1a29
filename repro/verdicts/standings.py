"""One cell at every scale at which something is on record of it."""

from repro.manifest.cells import Cell, cell
from repro.running.plan import plan
from repro.running.scale import known_scales
from repro.running.workspace import Workspace
from repro.store.results import Record
from repro.verdicts.compared import ComparedCell
from repro.verdicts.comparison import compare
from repro.verdicts.doubts import Doubt, doubts_about_run


def standings(measured_cell: Cell, workspace: Workspace) -> list[ComparedCell]:
    """The cell judged at full scale, then at every other one with a record of it; nothing is run.

    Raises what ``compare`` raises.
    """
    compared_cells = []
    for name, scale in known_scales().items():
        records = workspace.results.read(name, measured_cell.paper.name)
        is_recorded = any(r.cell == measured_cell.id for r in records)
        if is_recorded or scale.compares_with_paper:
            cell_plan = plan([measured_cell], scale=scale, machine=workspace.machine)
            cell_plan.look(workspace.store)
            compared_cells += compare(cell_plan, workspace.results, store=workspace.store).cells
    return compared_cells


def doubts_of(record: Record, workspace: Workspace) -> tuple[Doubt, ...]:
    """The doubts about the number that a record gives its cell, whether or not the cell shows it."""
    matches = [c for c in standings(cell(record.cell), workspace) if c.scale == record.scale]
    if shown := [c for c in matches if record.identity in {r.identity for r in c.records}]:
        return shown[0].doubts
    why = "its cell shows another record, of another recipe, seed or choice, or somebody's run"
    return (*(() if record.origin else (Doubt("outdated", why),)), *doubts_about_run(record))
