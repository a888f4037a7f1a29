"""``repro status``"""

from collections import Counter

import click

from repro.cli.options import selecting


@click.command(
    "status", epilog="\b\nExamples:\n  repro status PAPER\n  repro status --all --scale tiny --json"
)
@selecting
@click.option("--json", "as_json", is_flag=True, help="One object per cell.")
def command(selection, as_json):
    """Show how far the selected cells have come, table by table."""
    from repro.cli.printing import emit_json, table
    from repro.judging.comparison import compare
    from repro.judging.plain_values import cell_as_json
    from repro.running.provenance import origins

    plan, store = selection.plan(), selection.workspace.store
    plan.look(store)
    comparison = compare(plan, selection.workspace.results, store=store)
    made = origins(plan, store)
    if as_json:
        by_cell = made.by_cell(plan)
        return emit_json([cell_as_json(c) | by_cell[c.cell.id] for c in comparison.cells])
    rows = []
    for names, cells in comparison.by_table().items():
        done = sum(c.measured is not None for c in cells)
        counts = Counter(c.verdict.name for c in cells)
        verdicts = ", ".join(f"{number} {name}" for name, number in counts.items())
        rows.append([*names, f"{done}/{len(cells)}", verdicts])
    table(f"scale {selection.scale}", ["paper", "table", "measured", "verdicts"], rows)
    stored = sum(state == "stored" for state in plan.states.values())
    print(f"{stored} of {len(plan.nodes)} nodes are stored in {store.root}")
    if made.sentence:
        print(made.sentence)
    tell_jobs(plan, store)


def tell_jobs(plan, store) -> None:
    """Print how many jobs of nodes that are not stored are queued, running or over, and a line a failure."""
    from repro.errors import UsageError
    from repro.running.engines.slurm_jobs import jobs, log
    from repro.running.runner import describe

    missing = [node for node in plan.nodes if plan.states[node.fingerprint] != "stored"]
    try:
        by_node = jobs(store, missing)
    except UsageError as error:
        return print(error)
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
