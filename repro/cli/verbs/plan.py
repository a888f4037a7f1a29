"""``repro plan``, e.g. ``repro plan PAPER --table 1 --gpu h100``."""

import math
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from repro.cli.options import GPU, disk_options, json_option, selection_options, stated_options
from repro.cli.printing import say
from repro.errors import UsageError
from repro.progress import SILENT
from repro.running.plan import Plan
from repro.store import Store, make_writable


@click.command(
    "plan",
    epilog="""\b
Examples:
  repro plan PAPER --table 1          stages, cost and progress of a run
  repro plan PAPER --table 1 --nodes  every stage with its obstacles
  repro plan --all --gpu h100 --by table
  repro plan PAPER --gpu h100 --price 2.50
  repro plan --all --gpu h100 --to snakemake -o DIR
  repro plan PAPER --discard vectors --by row""",
)
@selection_options
@GPU
@click.option("--by", type=click.Choice(("table", "row")), help="Print one line per table or row.")
@click.option(
    "--price",
    type=float,
    metavar="DOLLARS",
    help="Print dollars by table and row, at this price of a GPU hour.",
)
@click.option("--nodes", "lists_nodes", is_flag=True, help="Print one line per stage and its inputs.")
@disk_options
@click.option(
    "--remember", is_flag=True, help="Only save the list of stages in the store, for engines that build them."
)
@click.option(
    "--to",
    "engine",
    type=click.Choice(("snakemake",)),
    help="Write the jobs as a Snakemake workflow into -o DIR.",
)
@click.option("-o", "--output", metavar="DIR", help="Folder of the workflow, with --to.")
@click.option("--shards", type=click.IntRange(1), metavar="N", help="Jobs per long stage, with --to.")
@json_option
def command(
    selection, gpu, by, price, lists_nodes, discard, max_disk, remember, engine, output, shards, as_json
):
    """Show the stages, downloads, disk, hours and obstacles of a run, and its progress.

    Hours come from `repro run --rehearse`, otherwise from `repro doctor calibrate`. With --gpu they come
    from recorded shares of that GPU's peak speed, or are a range. JSON has one object per stage.
    """
    from repro.cli.plans import show_plan
    from repro.running.cost.estimate import throughput
    from repro.running.cost.rehearsals import rehearsals

    _check_options(engine, remember=remember, as_json=as_json)
    plan, store = selection.plan(), selection.workspace.store
    if remember or engine:
        make_writable(store.root)
        plan.scale.pin_kernels(SILENT)
        store.remember(plan.nodes)
        if engine:
            _write_jobs(plan, store, Path(output), gpu=gpu, shards=shards or 1)
        return 0  # also with obstacles, as nothing runs here
    rates = throughput(store, gpu)
    if price is not None and not 0 < price < math.inf:
        raise UsageError(f"--price is {price:g}, but must be above 0, e.g. 2.50")
    if price and (rates is None or rates.unit != "GPU"):
        raise UsageError("--price needs the hours of a GPU: name one with --gpu, e.g. h100")
    plan.look(store)
    progress = () if as_json else list(progress_lines(plan, selection.workspace))
    view = "node" if lists_nodes else by or ("" if price else "stage")
    options = {"by": view, "discard": discard, "max_disk": max_disk, "price": price, "progress": progress}
    options["rehearsals"] = None if gpu else rehearsals(store)
    return show_plan(plan, rates, as_json, root=store.root, **options)


def _check_options(engine: str | None, *, remember: bool, as_json: bool) -> None:
    views = stated_options("by", "lists_nodes")
    others = [*views, *stated_options("discard", "max_disk", "price", "form", *() if engine else ("gpu",))]
    if (remember or engine) and others:
        raise UsageError(f"{'--to' if engine else '--remember'} cannot be combined with {others[0]}")
    if bool(engine) != bool(stated_options("output") if engine else stated_options("output", "shards")):
        raise UsageError("--to, -o and --shards belong together: `--to snakemake -o DIR [--shards N]`")
    views += ["--format json"] * as_json
    views += stated_options("price") if as_json or "--nodes" in views else []
    if len(views) > 1:
        raise UsageError(f"{views[-1]} cannot be combined with {views[0]}")


def _write_jobs(plan: Plan, store: Store, output: Path, *, gpu: str | None, shards: int) -> None:
    from repro.running.engines.snakemake import command, write
    from repro.running.runner import Options

    folder = output.expanduser().absolute()
    plan.look(store)
    nodes = plan.needed()
    jobs = write(nodes, plan, store, folder, Options(gpu=gpu, shards=shards))
    say(f"{len(jobs)} jobs of {len(nodes)} stages; {shlex.join([*command(folder), '--dry-run'])}")


def progress_lines(plan: Plan, workspace) -> Iterator[str]:
    """Yield sentences on the cells measured and the stages stored so far."""
    from repro.verdicts.comparison import judged_cells
    from repro.verdicts.summary import measured_in_words

    comparison = judged_cells(plan, workspace.results, workspace.store)
    stored = sum(state == "stored" for state in plan.states.values())
    yield f"so far: {measured_in_words(comparison.cells)}"
    yield f"{stored} of {len(plan.nodes)} stages are stored in {workspace.store.root}"
    if comparison.origins and comparison.origins.sentence:
        yield comparison.origins.sentence
