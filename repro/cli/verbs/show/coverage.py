"""``repro show coverage``"""

from collections import Counter

import click

from repro.cli import completion
from repro.cli.options import json_option


@click.command(
    "coverage",
    epilog="\b\nExamples:\n  repro show coverage\n"
    "  repro show coverage PAPER     with why each of the rest cannot be measured",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@json_option
def command(names, as_json):
    """Count what is measured, what could be and how, and what cannot.

    Every published number is counted once, by the strongest way there is: a recipe that trains it, a released
    checkpoint, an imported run, computed, not measurable. Between the rules are the scales at which it was
    measured. After a plus stands what no paper has a number for: points of figures, rows of reference,
    drawings, the suite's own study. Cells of tables of settings are counted apart, with how many of them the
    plan at full has as published (`repro show settings` tells the rest), and so are words.
    """
    from repro.cli.printing import emit_json, say
    from repro.manifest.papers import paper, papers
    from repro.running.workspace import Workspace
    from repro.verdicts.coverage import tallies, total

    records = Workspace.open().results
    by_paper = {name: tallies(paper(name), records) for name in names or papers()}
    grand_total = total((tally for rows in by_paper.values() for tally in rows), what="all")
    if as_json:
        return emit_json([tally.as_json() for rows in by_paper.values() for tally in rows])
    _print_tables(by_paper, grand_total, with_reasons=bool(names))
    say(f"{_count_in_words(by_paper, grand_total)}.")


def _print_tables(by_paper, grand_total, *, with_reasons: bool) -> None:
    from repro.manifest.papers import paper
    from repro.verdicts.coverage import total, usual_first

    scales = usual_first({"full", "small", "tiny", *grand_total.measured})
    for name, rows in by_paper.items():
        _print_table(f"{name}: {paper(name).manifest.title}", [*rows, total(rows, what="all")], scales)
        if with_reasons:
            _print_reasons(rows)
    if len(by_paper) > 1:
        totals = [total(rows, what=name) for name, rows in by_paper.items()]
        _print_table("all papers", [*totals, grand_total], scales)


def _count_in_words(names, grand_total) -> str:
    """The sentence on what is measured at full that every outlet says."""
    from repro.manifest.cells import count_in_words, every_cell
    from repro.manifest.papers import paper

    measured = {c.id for c in grand_total.cells if "full" in c.measured}
    cells = (cell for name in names for cell in every_cell(paper(name)))
    return count_in_words(cells, measured=measured, scale="full")


def _print_table(title, rows, scales) -> None:
    from repro.cli.printing import table
    from repro.verdicts.coverage import WAYS

    head = ["", "published cells", *WAYS, "│", *scales, "│", "settings", "nothing to measure"]
    lines = []
    for tally in rows:
        published, apart = tally.published, tally.apart
        ways = [_number(published.ways[way], apart.ways[way]) for way in WAYS]
        counts = [_number(published.measured[scale], apart.measured[scale]) for scale in scales]
        cells = _number(len(published.cells), len(apart.cells))
        idle = _number(tally.idle)
        lines.append([tally.what, cells, *ways, "│", *counts, "│", _settings_share(tally), idle])
    table(title, head, lines, right=range(1, len(head)))


def _settings_share(tally) -> str:
    total = tally.settings.total()
    return f"{tally.settings['as published']} of {total}" if total else "–"


def _number(published: int, apart: int = 0) -> str:
    """Return a count and, after a plus, what is counted apart."""
    return " ".join(filter(None, [str(published or ""), f"+{apart}" if apart else ""])) or "–"


def _print_reasons(rows) -> None:
    """A line for every row of a table that cannot be measured."""
    from repro.cli.printing import say

    cells = [(tally.what, cell) for tally in rows for cell in tally.cells if cell.reason]
    reasons = Counter((exhibit, cell.id.split("/")[2], cell.reason) for exhibit, cell in cells)
    for (exhibit, system, reason), count in reasons.items():
        say(f"{exhibit}, {system}, {count} cell{'s' if count > 1 else ''}: {reason}")
    if reasons:
        print()
