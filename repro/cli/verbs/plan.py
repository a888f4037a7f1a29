"""``repro plan``"""

import click

from repro.cli.options import discarding, selecting
from repro.errors import UsageError


@click.command(
    "plan",
    epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json\n"
    "  repro plan --all --gpu h100 --by table\n  repro plan PAPER --discard vectors --by row",
)
@selecting
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to h200, not of this machine.")
@click.option(
    "--by", type=click.Choice(("stage", "table", "row")), help="A line for each instead of a line a node."
)
@click.option("--summary", is_flag=True, help="The same as --by stage.")
@discarding
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
def command(selection, gpu, by, summary, discard, max_disk, as_json):
    """Show what a run would do, and what that takes: a summary, then which stages are stored or missing.

    Downloads, the disk at its fullest, and hours by simple formulas over what `repro calibrate` measured
    here, or an assumed throughput of a named GPU, beside what the papers say of their own cost; what stands
    in the way, and which cells no verdict will be given on.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.throughput import throughput

    if (summary or by) and as_json:
        raise UsageError("--by is for people and --json lists every node; give one of them")
    if summary and by not in (None, "stage"):
        raise UsageError(f"--summary is --by stage, and --by is {by}; give one of them")
    plan, store = selection.plan(), selection.workspace.store
    rates = throughput(store, gpu)
    plan.look(store)
    by = "stage" if summary else by
    return show_plan(plan, rates, as_json, root=store.root, by=by, discard=discard, max_disk=max_disk)
