"""How far a plan has come: cells that are measured, nodes that are stored, jobs of those that are not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from repro.errors import UsageError
from repro.graph import Node
from repro.running.description import describe
from repro.running.engines.slurm_jobs import Job
from repro.running.plan import Plan
from repro.store import Store

STATES = ("running", "queued", "failed", "cancelled", "done")
OVER = ("failed", "done")  # and their node is not stored


def progress_lines(plan: Plan, workspace) -> Iterator[str]:
    """Yield lines on what is measured and stored of a plan that has looked at the workspace's store."""
    from repro.judging.comparison import judged_cells
    from repro.judging.summary import measured_in_words

    comparison = judged_cells(plan, workspace.results, workspace.store)
    stored_count = sum(state == "stored" for state in plan.states.values())
    yield f"so far: {measured_in_words(comparison.cells)}"
    yield f"{stored_count} of {len(plan.nodes)} nodes are stored in {workspace.store.root}"
    if comparison.origins.sentence:
        yield comparison.origins.sentence
    yield from job_lines(plan, workspace.store)


def job_lines(plan: Plan, store: Store) -> Iterator[str]:
    """Yield how many jobs of nodes that are not stored are queued, running or over, and a line a failure."""
    from repro.running.engines.slurm_jobs import jobs

    missing = [node for node in plan.nodes if plan.states[node.fingerprint] != "stored"]
    try:
        by_node = jobs(store, missing)
    except UsageError as error:
        yield str(error)
        return
    if by_node:
        yield from _of_jobs(missing, by_node)


def _of_jobs(nodes: Sequence[Node], by_node: Mapping[str, Job]) -> Iterator[str]:
    counts = Counter(job.state for job in by_node.values())
    summary = ", ".join(f"{counts[state]} {state}" for state in sorted(counts, key=STATES.index))
    yield f"Slurm jobs of nodes that are not stored: {summary}"
    for node in nodes:
        job = by_node.get(node.fingerprint)
        if job and job.state in OVER:
            yield f"failed: {describe(node)}: job {job.id} is {job.slurm} (log: {job.log})"
