"""``repro plan``"""

import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from repro.cli.options import disk_options, json_option, selection_options, stated_options
from repro.cli.printing import say
from repro.errors import UsageError
from repro.progress import SILENT
from repro.running.plan import Plan
from repro.store import Store, make_writable


@click.command(
    "plan",
    epilog="""\b
Examples:
  repro plan PAPER --table 1              what a run would do, and how far it has come
  repro plan PAPER --table 1 --nodes      every stage, with what stands in its way
  repro plan --all --gpu h100 --by table
  repro plan --all --gpu h100 --to snakemake -o DIR
  repro plan PAPER --discard vectors --by row""",
)
@selection_options
@click.option("--gpu", metavar="NAME", help="Tell hours of this GPU, v100 to rtx4090, not of this machine.")
@click.option("--by", type=click.Choice(("table", "row")), help="A line for each instead of one a stage.")
@click.option("--nodes", "lists_nodes", is_flag=True, help="A line for each node: a stage with its inputs.")
@disk_options
@click.option(
    "--remember", is_flag=True, help="Only note the nodes in the store, for engines that build them."
)
@click.option(
    "--to",
    "engine",
    type=click.Choice(("snakemake",)),
    help="Write the jobs into -o DIR, which Snakemake can show or run.",
)
@click.option("-o", "--output", metavar="DIR", help="Where --to writes.")
@click.option("--shards", type=int, metavar="N", help="Jobs that share one long stage, of --to.")
@json_option
def command(selection, gpu, by, lists_nodes, discard, max_disk, remember, engine, output, shards, as_json):
    """Show what a run would do, what that takes, and how far it has come.

    Downloads, the disk at its fullest, and hours: as `repro run --rehearse` measured stages like these here,
    else by simple formulas over what `repro doctor calibrate` measured, or an assumed throughput of a named
    GPU, beside what the papers say of their own cost; what stands in the way, and which cells no verdict will
    be given on. In JSON every node is an object.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.estimate import throughput
    from repro.running.cost.rehearsals import rehearsals

    _check_options(by, lists_nodes, as_json, remember, engine)
    plan, store = selection.plan(), selection.workspace.store
    if remember or engine:
        make_writable(store.root)
        plan.scale.pin_kernels(SILENT)  # as the notes then say to whoever builds the nodes
        store.remember(plan.nodes)
        if engine:
            _write_jobs(plan, store, output, gpu=gpu, shards=shards or 1)
        return 0  # whatever stands in the way here, where nothing is to run
    rates = throughput(store, gpu)
    plan.look(store)
    options = {"by": "node" if lists_nodes else by or "stage", "discard": discard, "max_disk": max_disk}
    measured = None if gpu else rehearsals(store)
    options |= {
        "rehearsals": measured,
        "progress": () if as_json else list(progress_lines(plan, selection.workspace)),
    }
    return show_plan(plan, rates, as_json, root=store.root, **options)


def _check_options(
    by: str | None, lists_nodes: bool, as_json: bool, remember: bool, engine: str | None
) -> None:
    options = stated_options("by", "lists_nodes", "discard", "max_disk", "form", *() if engine else ("gpu",))
    if (remember or engine) and options:
        which = "--to" if engine else "--remember"
        raise UsageError(f"{options[0]} is of the plan that is shown, which {which} does not; leave it out")
    if (engine is None) != (not stated_options("output")) or (stated_options("shards") and not engine):
        raise UsageError("--to, -o and --shards belong together: `--to snakemake -o DIR [--shards N]`")
    if (by or lists_nodes) and as_json:
        raise UsageError("--by and --nodes are for people and JSON has every node; give one of them")
    if by and lists_nodes:
        raise UsageError(f"--nodes has a line for each node and --by one for each {by}; give one of them")


def _write_jobs(plan: Plan, store: Store, output: str, *, gpu: str | None, shards: int) -> None:
    from repro.running.engines.snakemake import command, write
    from repro.running.runner import Options

    folder = Path(output).expanduser().absolute()
    plan.look(store)
    nodes = plan.needed()  # whatever stands in the way here
    jobs = write(nodes, plan, store, folder, Options(gpu=gpu, shards=shards))
    say(f"{len(jobs)} jobs of {len(nodes)} stages; {shlex.join([*command(folder), '--dry-run'])}")


def progress_lines(plan: Plan, workspace) -> Iterator[str]:
    """Yield lines on the measured and stored parts of a plan that was looked up in the store."""
    from repro.verdicts.comparison import judged_cells
    from repro.verdicts.summary import measured_in_words

    comparison = judged_cells(plan, workspace.results, workspace.store)
    stored_count = sum(state == "stored" for state in plan.states.values())
    yield f"so far: {measured_in_words(comparison.cells)}"
    yield f"{stored_count} of {len(plan.nodes)} nodes are stored in {workspace.store.root}"
    if comparison.origins and comparison.origins.sentence:
        yield comparison.origins.sentence
