"""``repro coverage``"""

from collections import Counter

import click

from repro.cli import completion


@click.command(
    "coverage", epilog="\b\nExamples:\n  repro coverage\n  repro coverage PAPER -v\n  repro coverage --json"
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@click.option("-v", "--verbose", is_flag=True, help="Say why each of the rest cannot be measured.")
@click.option("--json", "as_json", is_flag=True, help="One object per table or figure, with its cells.")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, verbose, as_json, results):
    """Count what is measured, what could be and how, and what cannot.

    Every number of a result table, every point of a figure and every view is counted once, by the strongest
    way there is: a recipe that trains it, a released checkpoint, an imported run, computed, not measurable.
    Between the rules are scales with a record or drawing of it and, in brackets where cells share them, how
    many distinct measurements these are. Cells of tables of settings are counted apart, with how many of them
    the plan at full has as published (`repro settings` tells the rest), and so are words.
    """
    from repro.cli.printing import emit_json
    from repro.judging.coverage import tallies, total, usual_first
    from repro.manifest.papers import paper, papers
    from repro.running.workspace import Workspace

    records = Workspace.open(None, results).results
    by_paper = {name: tallies(paper(name), records) for name in names or papers()}
    grand_total = total((tally for rows in by_paper.values() for tally in rows), what="all")
    if as_json:
        return emit_json([tally.as_json() for rows in by_paper.values() for tally in rows])
    scales = usual_first({"full", "small", "tiny", *grand_total.measured})
    for name, rows in by_paper.items():
        _print_table(f"{name}: {paper(name).manifest.title}", [*rows, total(rows, what="all")], scales)
        if verbose:
            _print_reasons(rows)
    if len(by_paper) > 1:
        totals = [total(rows, what=name) for name, rows in by_paper.items()]
        _print_table("all papers", [*totals, grand_total], scales)


def _print_table(title, rows, scales) -> None:
    from repro.cli.printing import table
    from repro.judging.coverage import WAYS

    head = ["", "cells", *WAYS, "│", *scales, "│", "settings", "nothing to measure"]
    lines = []
    for tally in rows:
        counts = [_measured_count(tally, scale) for scale in scales]
        ways = _numbers(len(tally.cells), *tally.ways.values())
        lines.append([tally.what, *ways, "│", *counts, "│", _settings_share(tally), *_numbers(tally.idle)])
    table(title, head, lines, right=range(1, len(head)))


def _measured_count(tally, scale: str) -> str:
    cells, measurements = tally.measured[scale], tally.measurements[scale]
    return f"{cells} ({measurements})" if cells != measurements else str(cells or "–")


def _settings_share(tally) -> str:
    total = tally.settings.total()
    return f"{tally.settings['as published']} of {total}" if total else "–"


def _numbers(*values: int) -> list[str]:
    return [str(value or "–") for value in values]


def _print_reasons(rows) -> None:
    """A line for every row of a table that cannot be measured."""
    from repro.cli.printing import say

    cells = [(tally.what, cell) for tally in rows for cell in tally.cells if cell.reason]
    reasons = Counter((exhibit, cell.id.split("/")[2], cell.reason) for exhibit, cell in cells)
    for (exhibit, system, reason), count in reasons.items():
        say(f"{exhibit}, {system}, {count} cell{'s' if count > 1 else ''}: {reason}")
    if reasons:
        print()
