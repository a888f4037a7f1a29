"""``repro run``"""

from __future__ import annotations

import sys

import click

from repro.cli.selection import selecting


@click.command(
    "run",
    epilog="""\b
Examples:
  repro run PAPER --table 1 --scale tiny       the whole pipeline in minutes
  repro run PAPER --table 3 --row bm25         one row, everywhere it can be measured
  repro run PAPER --table 1 --dry-run          what it would do
  repro run PAPER --table 1 --seeds 1,2,3      three seeds, for a prediction interval
  repro run PAPER --table 5 --reading ID=CHOICE""",
)
@selecting
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--rebuild", is_flag=True, help="Discard damaged artefacts and build them again.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
@click.option("--json", "as_json", is_flag=True, help="One object per cell on standard output.")
def command(selection, dry_run, rebuild, strict, as_json):
    """Measure the selected cells and compare them with print.

    Runs what is missing from the store, records what was measured, prints the tables. Killed anywhere, the
    same command continues. What cannot run here is told with the way to get it, and holds back nothing else.
    """
    from repro.cli import judging
    from repro.cli.plan_ import show_plan

    store = selection.store()
    if dry_run:
        return show_plan(selection.plan(), store, as_json)
    from repro.comparison import compare, run_tests
    from repro.engines.inline import run_node
    from repro.progress import TerminalProgress
    from repro.results import Results
    from repro.runner import execute, record
    from repro.store import make_writable

    results, progress = Results(selection.settings.results), TerminalProgress()
    make_writable(store.root)
    plan = selection.plan()
    results.make_writable()
    outcome = execute(plan, store, run_node, progress, rebuild=rebuild)
    record(plan, store, results)
    comparison = compare(plan, results, outcome=outcome)
    run_tests(comparison, plan, store, run_node, progress)
    judging.show(comparison, as_json)
    judging.show_exhibits(plan, outcome)
    print(
        f"{plan.asked} stage calls asked for, {len(plan.nodes)} distinct nodes, {len(outcome.run)} run now; "
        f"records in {selection.settings.results}",
        file=sys.stderr,
    )
    return judging.status(comparison, strict=strict, outcome=outcome)
