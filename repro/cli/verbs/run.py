"""``repro run``, e.g. ``repro run PAPER --table 1 --scale tiny``."""

import sys
from dataclasses import replace
from itertools import chain
from typing import Any

import click

from repro.cli import verdicts
from repro.cli.options import (
    GPU,
    disk_options,
    format_option,
    selecting_words,
    selection_options,
    stated_options,
)
from repro.cli.plan_summary import nothing_can_run, show_needs
from repro.errors import UsageError
from repro.progress import SILENT, TerminalProgress
from repro.running import provenance
from repro.running.cost.estimate import estimate, keep_within, throughput
from repro.running.engines import ENGINES
from repro.running.runner import Options

# option -> engines, if not all
OWNERS = {
    **dict.fromkeys(("jobs", "gpus_per_stage"), ("local", "snakemake")),
    **dict.fromkeys(("profile", "shards"), ("snakemake",)),
}


@click.command(
    "run",
    epilog="""\b
Examples:
  repro run PAPER --table 1 --scale tiny   the whole pipeline in minutes
  repro run PAPER --table 3 --row bm25     one row
  repro run PAPER --table 1 --rehearse     the first rows and the estimated cost of all
  repro run PAPER --table 1 --seeds 1,2,3  three seeds, for a narrower interval
  repro run PAPER --table 5 --reading ID=CHOICE
  repro run PAPER --table 1 --engine local --jobs 4 --gpus-per-stage 2
  repro run PAPER --table 1 --engine snakemake --profile DIR --gpu h100 --shards 8
  repro run --all --discard vectors --max-disk 1TB""",
)
@selection_options
@click.option(
    "--engine",
    type=click.Choice(tuple(ENGINES)),
    default="auto",
    show_default=True,
    help="Engine: inline (one stage at a time), local (parallel processes), snakemake (cluster jobs) or auto"
    " (local for several small trainings on a CPU, otherwise inline).",
)
@click.option("--jobs", type=int, metavar="N", help="Parallel stages of the engines local and snakemake.")
@click.option(
    "--gpus-per-stage",
    type=int,
    metavar="N",
    help="GPUs per training or encoding of the engines local and snakemake.  [default: 1]",
)
@click.option("--profile", metavar="DIR", help="Snakemake profile, e.g. of `repro new site`.")
@click.option("--shards", type=int, metavar="N", help="Jobs per long stage of the engine snakemake.")
@click.option("--max-gpu-hours", "budget", type=float, metavar="H", help="Budget of GPU hours, e.g. 100.")
@GPU
@disk_options
@click.option(
    "--rehearse",
    "rehearses",
    is_flag=True,
    help="Run the first rows with a few steps per stage, and estimate the cost of all.",
)
@click.option("--dry-run", is_flag=True, help="Show the plan only.")
@click.option(
    "--rebuild",
    multiple=True,
    type=click.Choice(("damaged", "other-code")),
    help="Build damaged artefacts, or those made by other code or libraries, and their dependants again.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 1 if a verdict fails or a recorded number is not reproduced.",
)
@click.option(
    "--verbose/--quiet",
    "-v/-q",
    "verbose",
    default=None,
    help="List the stages as they begin and end, or print only tables and problems.",
)
@format_option("csv", "json")
def command(selection, engine, budget, gpu, rehearses, dry_run, rebuild, strict, verbose, form, **how):
    """Measure the selected cells and compare them with the published numbers.

    Stages in the store are not run again, so that the same command continues an interrupted run.
    """
    from repro.api.measurement import measure
    from repro.cli.plans import show_plan

    if rehearses:
        return _rehearse(selection, as_json=form == "json")
    options = _options(engine, {**how, "gpu": gpu})
    progress = SILENT if verbose is False else TerminalProgress(verbose=bool(verbose))
    store = selection.workspace.store
    with progress.task("planning"):
        plan = selection.plan()
    if engine == "snakemake":
        plan.machine.leave()
    _discard(rebuild, plan, store, dry_run)
    rates = _budget_rates(plan, store, budget, gpu)
    if dry_run:
        limits = {"discard": options.discard, "max_disk": options.max_disk}
        return show_plan(plan, rates, form == "json", root=store.root, **limits)
    for note in plan.scale.notes:
        progress.note(note)
    cells = measure(selection, plan=plan, engine=engine, options=options, progress=progress)
    _show(cells, plan, selection.workspace, form, gpu, quiet=verbose is False)
    return verdicts.status(
        cells.comparison, strict=strict, outcome=cells.outcome, recurrences=cells.recurrences
    )


def _show(cells, plan, workspace, form: str, gpu: str | None, *, quiet: bool) -> None:
    comparison, outcome = cells.comparison, cells.outcome
    if form == "terminal" and nothing_can_run(comparison, outcome):
        verdicts.show_recorded(comparison)
        show_needs(selecting_words(click.get_current_context()), plan, comparison, workspace.store, gpu=gpu)
        verdicts.show_recurrences(cells.recurrences)
    else:
        verdicts.show(comparison, plan, workspace.store, form, recurrences=cells.recurrences, quiet=quiet)
    verdicts.show_exhibits(plan, outcome, quiet=quiet)
    has_records = comparison.cells and not any(c.obstacles for c in comparison.cells)
    if outcome.blocked and has_records:
        for obstacle in dict.fromkeys(chain.from_iterable(outcome.blocked.values())):
            print(f"blocked: {obstacle}", file=sys.stderr)
    if not quiet:
        stages = f"Ran {len(outcome.run)} of {len(plan.nodes)} stages ({plan.asked} without sharing)"
        print(f"{stages}. Records: {workspace.results.root}", file=sys.stderr)


def _options(engine: str, values: dict[str, Any]) -> Options:
    stated = {name: value for name, value in values.items() if value is not None}
    options = Options(**stated)
    for name in stated:
        if engine not in (owners := OWNERS.get(name, ENGINES)):
            engines = f"engine{'s' * (len(owners) > 1)} {' and '.join(owners)}"
            raise UsageError(f"--{name.replace('_', '-')} needs the {engines}, not {engine}")
    return options


def _rehearse(selection, *, as_json: bool) -> int:
    from repro.cli.plans import rehearse_selection

    own = {"names", "tables", "rows", "everything", "scale_name", "seeds", "readings", "rehearses", "form"}
    parameters = (option.name for option in click.get_current_context().command.params)
    if others := stated_options(*(name for name in parameters if name not in own)):
        raise UsageError(f"--rehearse cannot be combined with {others[0]}")
    if not stated_options("scale_name"):
        selection = replace(selection, scale="rehearsal")
    return rehearse_selection(selection, as_json=as_json)


def _discard(rebuild: tuple[str, ...], plan, store, dry_run: bool) -> None:
    ways = {  # damaged artefacts have no provenance and go first
        "damaged": (provenance.damaged, "damaged, or made from damaged artefacts"),
        "other-code": (provenance.made_otherwise, "made by other code or libraries, or from such artefacts"),
    }
    verb = "would be discarded" if dry_run else "discarded"
    for find, reason in (way for name, way in ways.items() if name in rebuild):
        plan.look(store)
        nodes = find(plan, store)
        if not dry_run:
            provenance.discard(nodes, store)
        print(f"{len(nodes)} artefacts {verb}: {reason}", file=sys.stderr)


def _budget_rates(plan, store, budget: float | None, gpu: str | None):
    rates = throughput(store, gpu) if gpu or budget is not None else None
    plan.look(store)
    if budget is not None:
        hours = keep_within(estimate(plan, rates), budget, other_machine=gpu is not None)
        assert rates is not None
        print(f"about {hours:,.2f} of {budget:g} {rates.unit} hours ({rates.basis})", file=sys.stderr)
    return rates
