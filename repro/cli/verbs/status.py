"""``repro status``"""

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

    plan, store = selection.plan(), selection.workspace.store
    plan.look(store)
    comparison = compare(plan, selection.workspace.results)
    if as_json:
        return emit_json([c.as_json() for c in comparison.cells])
    groups = {}
    for c in comparison.cells:
        groups.setdefault((c.cell.paper.name, c.cell.table.id), []).append(c)
    rows = []
    for (name, identifier), cells in groups.items():
        done = sum(c.measured is not None for c in cells)
        verdicts = ", ".join(
            f"{sum(c.verdict.name == v for c in cells)} {v}"
            for v in dict.fromkeys(c.verdict.name for c in cells)
        )
        rows.append([name, identifier, f"{done}/{len(cells)}", verdicts])
    table(f"scale {selection.scale}", ["paper", "table", "measured", "verdicts"], rows)
    stored = sum(state == "stored" for state in plan.states.values())
    print(f"{stored} of {len(plan.nodes)} nodes are stored in {store.root}")
    from repro.cli.slurm_queue import tell_jobs

    tell_jobs(plan, store)
