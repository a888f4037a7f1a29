"""``repro plan``"""

import click

from repro.cli.options import selecting
from repro.errors import UsageError


@click.command(
    "plan",
    epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json\n"
    "  repro plan --all --gpu h100 --summary",
)
@selecting
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to h200, not of this machine.")
@click.option("--summary", is_flag=True, help="A line a stage instead of a line a node.")
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
def command(selection, gpu, summary, as_json):
    """Show what a run would do: which stages are stored, missing or blocked.

    Then what it takes: downloads, disk, and hours by simple formulas over what `repro calibrate` measured
    here, or an assumed throughput of a named GPU, beside what the papers say of their own cost.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.throughput import throughput

    if summary and as_json:
        raise UsageError("--summary is for people and --json lists every node; give one of them")
    plan, store = selection.plan(), selection.workspace.store
    rates = throughput(store, gpu)
    plan.look(store)
    return show_plan(plan, rates, as_json, summary=summary)
