"""``repro compare``. Plugin ``yours`` replaces it, reusing its help and verdicts."""

from collections.abc import Callable

import click

from repro.cli.options import format_option, selecting_names, selection_of_options


def verdict_options(function: Callable) -> Callable:
    """Add the options of verdicts: the cells to show, and whether a failure changes the exit status."""
    strict = click.option("--strict", is_flag=True, help="Exit with status 1 when a verdict does not pass.")
    failing = click.option("--failing", is_flag=True, help="Only cells whose verdict does not pass.")
    ran = "Only cells that the suite measured, or that others ran."
    return strict(failing(click.option("--measured", is_flag=True, help=ran)(function)))


@click.command(
    "compare",
    epilog="""\b
Examples:
  repro compare --all                                everything, the counts first
  repro compare PAPER --failing                      what does not pass
  repro compare --measured --format csv              numbers, differences and intervals for other tools""",
)
@selecting_names
@verdict_options
@format_option("csv", "json", "latex", "markdown")
def command(names, strict, failing, measured, form, **choices):
    """Judge the selected cells, or all, by what was measured so far; never trains, searches or downloads.

    Tests between rows, and against runs of the same system by others, are computed where the runs are stored
    and the store can be written.
    """
    selection = selection_of_options(names, by_default_all=True, **choices)
    return show_verdicts(selection, form, strict=strict, failing=failing, measured=measured)


def show_verdicts(selection, form: str, *, strict: bool, failing: bool, measured: bool) -> int:
    """Print the verdicts of a selection and return the exit status."""
    from repro.api.comparisons import compare_selection
    from repro.cli import verdicts
    from repro.cli.printing import say
    from repro.hooks import call
    from repro.progress import TerminalProgress

    plan = selection.plan()
    cells = compare_selection(selection, plan=plan, progress=TerminalProgress())
    matches = [c for c in cells if _is_chosen(c, failing=failing, measured=measured)]
    workspace, comparison = selection.workspace, cells.comparison
    verdicts.show(
        comparison, plan, workspace.store, form, chosen=matches, brief=True, results=workspace.results
    )
    if form == "terminal":
        for sentence in call("settings of papers", selection.cells) or ():
            say(sentence)
    return verdicts.status(comparison, strict=strict, outcome=None)


def _is_chosen(c, *, failing: bool, measured: bool) -> bool:
    from repro.verdicts.verdict import FAILS

    if failing and c.verdict.name not in FAILS:
        return False
    return not measured or c.measured is not None or bool(c.imported)
