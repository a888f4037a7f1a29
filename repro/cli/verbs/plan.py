"""``repro plan``"""

import click

from repro.cli.options import disk_options, selecting_for_plan, stated_options
from repro.errors import UsageError
from repro.progress import SILENT
from repro.store import make_writable


@click.command(
    "plan",
    epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json\n"
    "  repro plan --all --gpu h100 --by table\n  repro plan PAPER --discard vectors --by row",
)
@selecting_for_plan
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to rtx4090, not of this machine.")
@click.option(
    "--by", type=click.Choice(("stage", "table", "row")), help="A line for each instead of a line a node."
)
@click.option("--summary", is_flag=True, help="The same as --by stage.")
@disk_options
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
@click.option(
    "--remember", is_flag=True, help="Only note the nodes in the store, which `repro stage` builds."
)
def command(selection, gpu, by, summary, discard, max_disk, as_json, remember):
    """Show what a run would do, and what that takes: a summary, then which stages are stored or missing.

    Downloads, the disk at its fullest, and hours: as `repro rehearse` measured stages like these here, else
    by simple formulas over what `repro calibrate` measured, or an assumed throughput of a named GPU, beside
    what the papers say of their own cost; what stands in the way, and which cells no verdict will be given
    on.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.rehearsals import rehearsals
    from repro.running.cost.throughput import throughput

    _check_options(summary, by, as_json, remember)
    plan, store = selection.plan(), selection.workspace.store
    if remember:
        make_writable(store.root)
        plan.scale.pin_kernels(SILENT)  # as the notes then say to whoever builds the nodes
        store.remember(plan.nodes)
        return 0  # whatever stands in the way here, where nothing is to run
    rates = throughput(store, gpu)
    plan.look(store)
    by = "stage" if summary else by
    options = {"by": by, "discard": discard, "max_disk": max_disk}
    return show_plan(
        plan, rates, as_json, root=store.root, **options, rehearsals=None if gpu else rehearsals(store)
    )


def _check_options(summary: bool, by: str | None, as_json: bool, remember: bool) -> None:
    """Refuse options of which one would do nothing."""
    options = stated_options("gpu", "by", "summary", "discard", "max_disk", "as_json")
    if remember and options:
        raise UsageError(
            f"{options[0]} is of the plan that is shown, which --remember does not; leave it out"
        )
    if (summary or by) and as_json:
        raise UsageError("--by is for people and --json lists every node; give one of them")
    if summary and by not in (None, "stage"):
        raise UsageError(f"--summary is --by stage, and --by is {by}; give one of them")
