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

    kept = Workspace.open(None, results).results
    places = {name: tallies(paper(name), kept) for name in names or papers()}
    everything = total((tally for own in places.values() for tally in own), what="all")
    if as_json:
        return emit_json([tally.as_json() for own in places.values() for tally in own])
    scales = usual_first({"full", "small", "tiny", *everything.measured})
    for name, own in places.items():
        _print(f"{name}: {paper(name).manifest.title}", [*own, total(own, what="all")], scales)
        if verbose:
            _reasons(own)
    if len(places) > 1:
        sums = [total(own, what=name) for name, own in places.items()]
        _print("all papers", [*sums, everything], scales)


def _print(title, rows, scales) -> None:
    from repro.cli.printing import table
    from repro.judging.coverage import WAYS

    head = ["", "cells", *WAYS, "│", *scales, "│", "settings", "nothing to measure"]
    lines = []
    for tally in rows:
        measured = [_measured(tally, scale) for scale in scales]
        ways = _numbers(len(tally.cells), *tally.ways.values())
        lines.append([tally.what, *ways, "│", *measured, "│", _settings(tally), *_numbers(tally.idle)])
    table(title, head, lines, right=range(1, len(head)))


def _measured(tally, scale: str) -> str:
    cells, distinct = tally.measured[scale], tally.measurements[scale]
    return f"{cells} ({distinct})" if cells != distinct else str(cells or "–")


def _settings(tally) -> str:
    total = tally.settings.total()
    return f"{tally.settings['as published']} of {total}" if total else "–"


def _numbers(*values: int) -> list[str]:
    return [str(value or "–") for value in values]


def _reasons(rows) -> None:
    """A line for every row of a table that cannot be measured."""
    from repro.cli.printing import say

    cells = [(tally.what, cell) for tally in rows for cell in tally.cells if cell.reason]
    reasons = Counter((what, cell.id.split("/")[2], cell.reason) for what, cell in cells)
    for (what, system, reason), count in reasons.items():
        say(f"{what}, {system}, {count} cell{'s' if count > 1 else ''}: {reason}")
    if reasons:
        print()
