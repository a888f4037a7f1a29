"""The Slurm jobs of a plan's nodes, on the terminal."""

from __future__ import annotations

from collections import Counter


def tell_jobs(plan, store) -> None:
    """A line of how many jobs of what is not stored are queued, running or over, and one a failure."""
    from repro.errors import UsageError
    from repro.running.engines.slurm_jobs import jobs, log
    from repro.running.runner import describe

    missing = [node for node in plan.nodes if plan.states[node.fingerprint] != "stored"]
    try:
        found = jobs(store, missing)
    except UsageError as error:
        print(error)
        return
    if not found:
        return
    counts = Counter(job.state for job in found.values())
    words = ("running", "queued", "failed", "cancelled", "done")
    parts = [f"{counts[word]} {word}" for word in words if counts[word]]
    print(f"Slurm jobs of nodes that are not stored: {', '.join(parts)}")
    for node in missing:
        job = found.get(node.fingerprint)
        if job and job.state in ("failed", "done"):
            print(f"failed: {describe(node)}: job {job.id} is {job.slurm} (log: {log(store, node)})")
