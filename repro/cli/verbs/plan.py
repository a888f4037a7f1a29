"""``repro plan``"""

import sys

import click

from repro.cli.options import (
    OF_FILE,
    disk_options,
    scale_words,
    selecting_for_plan,
    selecting_words,
    stated_options,
)
from repro.errors import UsageError
from repro.progress import SILENT
from repro.store import make_writable


@click.command(
    "plan",
    epilog="\b\nExamples:\n  repro plan PAPER --table 1\n  repro plan --all --scale tiny --json\n"
    "  repro plan --all --gpu h100 --by table\n  repro plan PAPER --discard vectors --by row\n"
    "  repro plan PAPER --table 1 --to argo --image IMAGE --volume CLAIM > workflow.yaml",
)
@selecting_for_plan
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to rtx4090, not of this machine.")
@click.option(
    "--by", type=click.Choice(("stage", "table", "row")), help="A line for each instead of a line a node."
)
@click.option("--summary", is_flag=True, help="The same as --by stage.")
@disk_options
@click.option("--json", "as_json", is_flag=True, help="One object per node.")
@click.option("--to", type=click.Choice(("argo",)), help="Write it as a workflow of Kubernetes instead.")
@click.option("--image", metavar="IMAGE", help="The image of its containers, which has repro.")
@click.option("--volume", metavar="CLAIM", help="The volume claim that all of them mount, at /work.")
@click.option("--site", metavar="FILE", help="GPUs, cores and memory of its stages (REPRO_SITE).")
@click.option("--shards", type=click.IntRange(1), default=1, help="Containers that share a long stage.")
@click.option(
    "--remember", is_flag=True, help="Only note the nodes in the store, which `repro stage` builds."
)
def command(
    selection, gpu, by, summary, discard, max_disk, as_json, to, image, volume, site, shards, remember
):
    """Show what a run would do, and what that takes: a summary, then which stages are stored or missing.

    Downloads, the disk at its fullest, and hours: as `repro rehearse` measured stages like these here, else
    by simple formulas over what `repro calibrate` measured, or an assumed throughput of a named GPU, beside
    what the papers say of their own cost; what stands in the way, and which cells no verdict will be given
    on.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.rehearsals import rehearsals
    from repro.running.cost.throughput import throughput

    _check_options(summary, by, as_json, output="--to" if to else "--remember" if remember else "")
    plan, store = selection.plan(), selection.workspace.store
    if remember:
        make_writable(store.root)
        plan.scale.pin_kernels(SILENT)  # as the notes then say to whoever builds the nodes
        store.remember(plan.nodes)
    if to:
        return _write_workflow(plan, store, image, volume, site, shards)
    if remember:
        return 0  # whatever stands in the way here, where nothing is to run
    rates = throughput(store, gpu)
    plan.look(store)
    by = "stage" if summary else by
    options = {"by": by, "discard": discard, "max_disk": max_disk}
    return show_plan(
        plan, rates, as_json, root=store.root, **options, rehearsals=None if gpu else rehearsals(store)
    )


def _check_options(summary: bool, by: str | None, as_json: bool, *, output: str) -> None:
    """Refuse options of which one would do nothing.

    Args:
        output: the option by which no plan is shown, if any.
    """
    options = stated_options("gpu", "by", "summary", "discard", "max_disk", "as_json")
    if output and options:
        raise UsageError(f"{options[0]} is of the plan that is shown, which {output} does not; leave it out")
    if output != "--to" and (flags := stated_options("image", "volume", "site", "shards")):
        raise UsageError(f"{flags[0]} is of the workflow that --to argo writes; say that, or leave it out")
    if (summary or by) and as_json:
        raise UsageError("--by is for people and --json lists every node; give one of them")
    if summary and by not in (None, "stage"):
        raise UsageError(f"--summary is --by stage, and --by is {by}; give one of them")


def _write_workflow(plan, store, image: str | None, volume: str | None, site: str | None, shards: int) -> int:
    """Print the plan as an Argo workflow. Exit status 4 where stages are left out, for want of data say."""
    from repro.running.engines.argo import workflow
    from repro.running.engines.site import site as read_site

    if not (image and volume):
        raise UsageError("--to argo needs the containers' --image and the --volume that they share")
    context = click.get_current_context()
    if OF_FILE in context.meta:
        raise UsageError("--to argo takes no --scale-file, which its containers do not see; name a --scale")
    plan.machine.leave()
    plan.look(store)
    words = [*selecting_words(context), *scale_words(context)]
    words += ["--seeds", context.params["seeds"]] if context.params["seeds"] else []
    options = {"image": image, "volume": volume, "site": read_site(site), "shards": shards}
    print(workflow(plan, words, **options), end="")
    omissions = [node for node in plan.needed() if plan.obstacles(node)]
    for text in dict.fromkeys(f"{o.cause}; {o.remedy}" for node in omissions for o in plan.obstacles(node)):
        print(f"left out: {text}", file=sys.stderr)
    return 4 if omissions else 0
