"""The Slurm jobs of a plan's nodes, on the terminal."""

from collections import Counter
from collections.abc import Iterable


def tell_jobs(plan, store) -> None:
    """Print how many jobs of nodes that are not stored are queued, running or over, and a line a failure."""
    from repro.errors import UsageError
    from repro.running.engines.slurm_jobs import jobs, log
    from repro.running.runner import describe

    missing = [node for node in plan.nodes if plan.states[node.fingerprint] != "stored"]
    try:
        by_node = jobs(store, missing)
    except UsageError as error:
        print(error)
        return
    if not by_node:
        return
    print(f"Slurm jobs of nodes that are not stored: {_numbers(job.state for job in by_node.values())}")
    for node in missing:
        job = by_node.get(node.fingerprint)
        if job and job.state in ("failed", "done"):
            print(f"failed: {describe(node)}: job {job.id} is {job.slurm} (log: {log(store, node)})")


def _numbers(states: Iterable[str]) -> str:
    """``2 running, 1 failed``: how many there are of each state."""
    counts = Counter(states)
    order = ("running", "queued", "failed", "cancelled", "done")
    return ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
