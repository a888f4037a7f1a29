"""``repro run``"""

from __future__ import annotations

import sys

import click

from repro.cli.options import selecting
from repro.errors import UsageError

ENGINES = ("inline", "local", "slurm")


@click.command(
    "run",
    epilog="""\b
Examples:
  repro run PAPER --table 1 --scale tiny       the whole pipeline in minutes
  repro run PAPER --table 3 --row bm25         one row, everywhere it can be measured
  repro run PAPER --table 1 --dry-run          what it would do
  repro run PAPER --table 1 --seeds 1,2,3      three seeds, for a prediction interval
  repro run PAPER --table 5 --reading ID=CHOICE
  repro run PAPER --table 1 --engine local --jobs 4
  repro run PAPER --table 1 --engine local --gpus-per-stage 8
  repro run PAPER --table 1 --engine slurm --site site.yaml""",
)
@selecting
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="inline",
    show_default=True,
    help="One stage after another; as many processes as fit; or jobs of Slurm.",
)
@click.option("--jobs", type=int, metavar="N", help="Stages at once, of the engine local.")
@click.option(
    "--gpus-per-stage",
    type=int,
    metavar="N",
    help="GPUs of a training or an encoding, of the engine local.  [default: 1]",
)
@click.option("--site", metavar="FILE", help="What stages ask of Slurm (REPRO_SITE).")
@click.option("--max-gpu-hours", "budget", type=float, metavar="H", help="Stop planning at this budget.")
@click.option("--gpu", metavar="NAME", help="Count hours of this GPU, v100 to h200, not of this machine.")
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--rebuild", is_flag=True, help="Discard damaged artefacts and build them again.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
@click.option("--json", "as_json", is_flag=True, help="One object per cell on standard output.")
def command(selection, engine, jobs, gpus_per_stage, site, budget, gpu, dry_run, rebuild, strict, as_json):
    """Measure the selected cells and compare them with the published numbers.

    Runs what is missing from the store, records what was measured, prints the tables. Killed anywhere, the
    same command continues. What cannot run here is told with the way to get it, and holds back nothing else.
    On Slurm it submits what is neither stored nor queued; the same command, later, prints what came of it.
    """
    from repro.cli import verdicts
    from repro.cli.verbs.plan import show_plan

    cluster = _check_engine(engine, jobs, gpus_per_stage, site)
    plan, store = selection.plan(), selection.workspace.store
    if engine == "slurm":
        plan.machine.leave()
    rates = _within(plan, store, budget, gpu)
    if dry_run:
        return show_plan(plan, rates, as_json)
    from repro.progress import TerminalProgress
    from repro.running.engines.inline import run_node
    from repro.running.runner import record
    from repro.store import make_writable

    results, progress = selection.workspace.results, TerminalProgress()
    make_writable(store.root)
    results.make_writable()
    how = {"jobs": jobs, "gpus_per_stage": 1 if gpus_per_stage is None else gpus_per_stage}
    outcome = _carry_out(plan, store, progress, engine=engine, how=how, site=cluster, rebuild=rebuild)
    record(plan, store, results)
    comparison = _compared(plan, results, outcome, store, progress, run_node)
    verdicts.show(comparison, as_json)
    verdicts.show_exhibits(plan, outcome)
    print(
        f"{plan.asked} stage calls asked for, {len(plan.nodes)} distinct nodes, {len(outcome.run)} run now; "
        f"records in {results.root}",
        file=sys.stderr,
    )
    return verdicts.status(comparison, strict=strict, outcome=outcome)


def _check_engine(engine: str, jobs: int | None, gpus_per_stage: int | None, site: str | None):
    """The Site of the engine slurm; None of another."""
    for option, given in (("--jobs", jobs), ("--gpus-per-stage", gpus_per_stage)):
        if given is not None and engine != "local":
            raise UsageError(f"{option} is of the engine local, not of {engine}; name that, or leave it out")
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs is {jobs}; give the number of stages to run at once, 1 or more")
    if site is not None and engine != "slurm":
        raise UsageError(f"--site is of the engine slurm, not of {engine}; name that, or leave it out")
    if engine != "slurm":
        return None
    from repro.running.engines.site import site as read

    return read(site)


def _within(plan, store, budget: float | None, gpu: str | None):
    """What hours are told from; the plan has looked at the store, a budget has blocked the rest."""
    from repro.running.cost.estimate import keep_within
    from repro.running.cost.throughput import throughput

    rates = throughput(store, gpu) if gpu or budget is not None else None
    plan.look(store)
    if budget is not None:
        spent = keep_within(plan, budget, rates, elsewhere=gpu is not None)
        print(f"about {spent:,.2f} of {budget:g} {rates.unit} hours ({rates.basis})", file=sys.stderr)
    return rates


def _carry_out(plan, store, progress, *, engine: str, how: dict[str, int | None], site, rebuild: bool):
    if engine == "local":
        from repro.running.engines import local

        return local.execute(plan, store, progress, **how, rebuild=rebuild)
    if engine == "slurm":
        from repro.running.engines import slurm

        done = slurm.submit(plan, store, progress, site=site, rebuild=rebuild)
        if done.submitted or done.standing:
            print(
                f"{len(done.submitted)} jobs submitted, {len(done.standing)} queued or running before; "
                "`repro status` tells of them, the same command prints what was measured",
                file=sys.stderr,
            )
        return done.outcome
    from repro.running.engines.inline import run_node
    from repro.running.runner import execute

    return execute(plan, store, run_node, progress, rebuild=rebuild)


def _compared(plan, results, outcome, store, progress, run_node):
    from repro.judging.comparison import compare
    from repro.judging.row_tests import run_tests

    comparison = compare(plan, results, outcome=outcome)
    run_tests(comparison, plan, store, run_node, progress)
    return comparison
