"""Measure a selection, e.g. ``measure(select("PAPER/1", scale="tiny"))``."""

import os
from dataclasses import asdict

from repro.api import Listing, Selection, comparisons
from repro.errors import ReproError, StoreError
from repro.manifest.papers import sources
from repro.progress import Progress
from repro.retrieval.training.declaration import VARIABLES, Execution
from repro.running.engines import ENGINES
from repro.running.plan import Plan
from repro.running.records import record
from repro.running.runner import Options
from repro.running.scale import scale as scale_of
from repro.running.workspace import Workspace
from repro.stage_table import SEARCHES, TRAININGS
from repro.store import Store, make_writable
from repro.store.results import Record

_DEFAULT = Options()
_PADDING_FREE = "REPRO_PADDING_FREE"


def measure(
    selection: Selection,
    *,
    plan: Plan | None = None,
    engine: str = "inline",
    options: Options = _DEFAULT,
    progress: Progress | None = None,
) -> comparisons.ComparedCells:
    """Run the missing stages of a selection, record its numbers, and compare them.

    The same call continues after an interruption. A failed or blocked stage stops only the stages that
    depend on it. ``outcome`` of the returned cells lists them.

    Args:
        engine: ``inline`` (one stage at a time), ``local`` (parallel processes), ``snakemake`` (cluster jobs)
            or ``auto`` (``local`` for several small trainings on a CPU, otherwise ``inline``).

    Raises:
        StoreError: the store or the records are not writable, or an artefact is damaged.
        UsageError: as ``Selection.plan``, an invalid environment variable, or an untrainable objective. No
            stage has run.

    Example:
        >>> repro.measure(repro.select("PAPER/1/ROW/COLUMN", scale="tiny"))
    """
    workspace, progress = selection.workspace, progress or Progress()
    plan = plan or selection.plan()
    plan.scale.pin_kernels(progress)
    _check_settings(plan, workspace.store)
    make_writable(workspace.store.root)
    workspace.results.make_writable()
    outcome = ENGINES[engine](plan, workspace.store, progress, options)
    recurrences = record(plan, workspace.store, workspace.results, on_record=workspace.on_record)
    outcome.failed |= _damages(plan, workspace.store)
    return comparisons.compare_selection(
        selection, plan=plan, outcome=outcome, recurrences=recurrences, progress=progress
    )


def _damages(plan: Plan, store: Store) -> dict[str, ReproError]:
    errors: dict[str, ReproError] = {}
    for node in (n for n in plan.nodes if plan.states[n.fingerprint] == "damaged"):
        try:
            store.checked(node)
        except StoreError as error:
            errors[node.fingerprint] = error
    return errors


def _check_settings(plan: Plan, store: Store) -> None:
    trainings = [n for n in plan.nodes if n.stage in TRAININGS]
    variables = {_PADDING_FREE, *(variable for variable, _ in VARIABLES.values())}
    if trainings and os.environ.keys() & variables:
        Execution.of(os.environ)
    elif _PADDING_FREE in os.environ:
        from repro.retrieval.nn.padding_free import is_asked_for

        is_asked_for(os.environ)
    if os.environ.get("REPRO_SEARCH_MEMORY") and any(n.stage in SEARCHES for n in plan.nodes):
        from repro.retrieval.stages.vectors.search_memory import search_memory

        search_memory()
    for node in trainings:
        if store.state(node) != "stored":
            from repro.retrieval.training.objective import objective_class

            objective_class(node.stage, node.params)


def records(*names: str, scale: str = "full", workspace: Workspace | None = None) -> Listing[Record]:
    """Return the records of papers (default: all) at a scale, oldest first for each paper.

    Of several records of one measurement, the last counts. Raises UsageError for an unknown name, and
    DataError for a malformed line.

    Example:
        >>> repro.records("PAPER", scale="tiny").to_frame()
    """
    scale_of(scale)
    results = (workspace or Workspace.open()).results
    all_records = [record for source in sources(names) for record in results.read(scale, source.name)]
    return Listing(all_records, line=asdict, index="cell")
