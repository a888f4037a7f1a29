"""``repro compare``, e.g. ``repro compare PAPER --failing``. Plugin ``yours`` replaces it."""

from collections.abc import Callable

import click

from repro import hooks, progress
from repro.cli import options, printing, verdicts
from repro.verdicts.verdict import FAILS


def verdict_options(function: Callable) -> Callable:
    strict = click.option("--strict", is_flag=True, help="Exit with status 1 if a verdict fails.")
    failing = click.option("--failing", is_flag=True, help="Only cells with a failing verdict.")
    ran = "Only cells with a measurement or a run by others."
    return strict(failing(click.option("--measured", is_flag=True, help=ran)(function)))


@click.command(
    "compare",
    epilog="""\b
Examples:
  repro compare --all                    everything, counts first
  repro compare PAPER --failing          failing cells
  repro compare --measured --format csv  numbers, differences and intervals""",
)
@options.selecting_names
@verdict_options
@options.format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, form, **choices):
    """Compare stored results with the published numbers, by default of all cells, without running stages.

    Significance tests need the stored runs and a writable store.
    """
    selection = options.selection_of_options(names, by_default_all=True, **choices)
    return show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)


def show_verdicts(selection, form: str, *, strict: bool, failing: bool, measured: bool) -> int:
    from repro.api.comparisons import compare_selection

    plan = selection.plan()
    cells = compare_selection(selection, plan=plan, progress=progress.TerminalProgress())
    matches = [c for c in cells if _is_chosen(c, failing=failing, measured=measured)]
    comparison, workspace = cells.comparison, selection.workspace
    verdicts.show(
        comparison, plan, workspace.store, form, chosen=matches, brief=True, results=workspace.results
    )
    if form == "terminal":
        for sentence in hooks.call("settings of papers", selection.cells, plan.machine) or ():
            printing.say(sentence)
    return verdicts.status(comparison, strict=strict, outcome=None)


def _is_chosen(c, *, failing: bool, measured: bool) -> bool:
    if failing and c.verdict.name not in FAILS:
        return False
    return not measured or c.measured is not None or bool(c.imported)
