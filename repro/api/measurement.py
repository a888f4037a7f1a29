"""Measuring a selection: its stages are run, its cells recorded and compared."""

from repro.api.comparisons import ComparedCells, compare_selection
from repro.api.selection import Selection
from repro.progress import Progress
from repro.running.engines.table import ENGINES
from repro.running.plan import Plan
from repro.running.records import record
from repro.running.runner import Options
from repro.store import make_writable

_DEFAULT = Options()


def measure(
    selection: Selection,
    *,
    plan: Plan | None = None,
    engine: str = "inline",
    options: Options = _DEFAULT,
    progress: Progress | None = None,
) -> ComparedCells:
    """Run what the store lacks of a selection, record what was measured, and compare it.

    Interrupted anywhere, the same call continues from the store. A stage that fails or is blocked holds back
    only what is below it: ``outcome`` of what is returned says which.

    Args:
        plan: the selection's, where it was made already.
        engine: ``inline``, one stage after another in this process; ``local``, as many processes as fit;
            ``slurm``; or ``auto``, ``local`` for several small trainings and else ``inline``.
        progress: hears of stages that run; nothing does without one.

    Raises:
        StoreError: the store or the records cannot be written, or an artefact is damaged.
        UsageError: as ``Selection.plan``.
    """
    workspace, progress = selection.workspace, progress or Progress()
    plan = plan or selection.plan()
    make_writable(workspace.store.root)
    workspace.results.make_writable()
    outcome = ENGINES[engine](plan, workspace.store, progress, options)
    added = record(plan, workspace.store, workspace.results)
    return compare_selection(selection, plan=plan, outcome=outcome, recorded=added, progress=progress)
