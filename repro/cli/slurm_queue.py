"""The Slurm jobs of a plan's nodes, on the terminal."""

from __future__ import annotations

from collections import Counter


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
    counts = Counter(job.state for job in by_node.values())
    states = ("running", "queued", "failed", "cancelled", "done")
    in_words = ", ".join(f"{counts[state]} {state}" for state in states if counts[state])
    print(f"Slurm jobs of nodes that are not stored: {in_words}")
    for node in missing:
        job = by_node.get(node.fingerprint)
        if job and job.state in ("failed", "done"):
            print(f"failed: {describe(node)}: job {job.id} is {job.slurm} (log: {log(store, node)})")
