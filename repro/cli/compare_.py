"""``repro compare``"""

from __future__ import annotations

import click

from repro.cli.selection import selecting


@click.command(
    "compare", epilog="\b\nExamples:\n  repro compare --all\n  repro compare PAPER --table 3 --strict --json"
)
@selecting
@click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
@click.option("--json", "as_json", is_flag=True, help="One object per cell on standard output.")
def command(selection, strict, as_json):
    """Judge the selected cells by what was measured so far; never trains, searches or downloads.

    Tests between rows are computed where their runs are stored and the store can be written.
    """
    from repro.cli import judging
    from repro.comparison import compare, run_tests
    from repro.engines.inline import run_node
    from repro.progress import TerminalProgress
    from repro.results import Results

    plan, store = selection.plan(), selection.store()
    plan.look(store)
    comparison = compare(plan, Results(selection.settings.results))
    run_tests(comparison, plan, store, run_node, TerminalProgress())
    judging.show(comparison, as_json)
    return judging.status(comparison, strict=strict, outcome=None)
