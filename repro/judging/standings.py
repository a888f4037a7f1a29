"""One cell at every scale at which something is on record of it."""

from repro.judging.compared import ComparedCell
from repro.judging.comparison import compare
from repro.manifest.cells import Cell
from repro.running.plan import plan
from repro.running.scale import known_scales
from repro.running.workspace import Workspace


def standings(cell: Cell, workspace: Workspace) -> list[ComparedCell]:
    """The cell judged at full scale, then at every other one with a record of it; nothing is run.

    Raises what ``compare`` raises.
    """
    compared_cells = []
    for name, scale in known_scales().items():
        is_recorded = any(r.cell == cell.id for r in workspace.results.read(name, cell.paper.name))
        if is_recorded or scale.compares_with_paper:
            cell_plan = plan([cell], scale=scale, machine=workspace.machine)
            cell_plan.look(workspace.store)
            compared_cells += compare(cell_plan, workspace.results, store=workspace.store).cells
    return compared_cells
