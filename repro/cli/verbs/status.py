"""``repro status``"""

from collections import Counter

import click

from repro.cli.options import selecting_everything


@click.command("status", epilog="\b\nExamples:\n  repro status PAPER\n  repro status --scale tiny --json")
@selecting_everything
@click.option("--json", "as_json", is_flag=True, help="One object per cell.")
def command(selection, as_json):
    """Show how far the selected cells have come, table by table."""
    from repro.api.comparisons import compare_selection
    from repro.cli.printing import emit_json, table
    from repro.judging.plain_values import cell_as_json
    from repro.judging.summary import conditions, measured_in_words, summarise

    compared_cells, store = compare_selection(selection, new_tests=False), selection.workspace.store
    comparison, plan = compared_cells.comparison, compared_cells.plan
    if as_json:
        return emit_json([cell_as_json(c) for c in comparison.cells])
    rows = []
    for names, cells in comparison.by_table().items():
        counts = summarise(cells)
        verdicts = ", ".join(f"{number} {name}" for name, number in counts.verdicts.items())
        progress = f"{counts.measured}/{counts.cells}"
        rows.append([*names, progress, str(counts.measurements), str(counts.imported or "–"), verdicts])
    head = ["paper", "table", "measured", "distinct", "by others", "verdicts"]
    table(measured_in_words(comparison.cells), head, rows, right=(3, 4))
    if how := conditions(comparison.cells):
        print(how)
    stored_count = sum(state == "stored" for state in plan.states.values())
    print(f"{stored_count} of {len(plan.nodes)} nodes are stored in {store.root}")
    if comparison.origins.sentence:
        print(comparison.origins.sentence)
    tell_jobs(plan, store)


def tell_jobs(plan, store) -> None:
    """Print how many jobs of nodes that are not stored are queued, running or over, and a line a failure."""
    from repro.errors import UsageError
    from repro.running.description import describe
    from repro.running.engines.slurm_jobs import jobs

    missing = [node for node in plan.nodes if plan.states[node.fingerprint] != "stored"]
    try:
        by_node = jobs(store, missing)
    except UsageError as error:
        return print(error)
    if not by_node:
        return
    counts = Counter(job.state for job in by_node.values())
    states = ("running", "queued", "failed", "cancelled", "done")
    summary = ", ".join(f"{counts[state]} {state}" for state in states if counts[state])
    print(f"Slurm jobs of nodes that are not stored: {summary}")
    for node in missing:
        job = by_node.get(node.fingerprint)
        if job and job.state in ("failed", "done"):
            print(f"failed: {describe(node)}: job {job.id} is {job.slurm} (log: {job.log})")
