"""``repro show cells``"""

import click

from repro.cli import completion
from repro.cli.options import format_option


@click.command(
    "cells", epilog="\b\nExamples:\n  repro show cells PAPER\n  repro show cells --format csv > cells.csv"
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@format_option("csv", "json")
def command(names, form):
    """List every numeric result cell of the papers, one a line."""
    from repro.api.papers import paper, papers
    from repro.cli.printing import emit_csv, emit_json, table
    from repro.manifest.cells import count_in_words

    cells = [cell for name in names or papers() for cell in paper(name).cells]
    rows = [cell.as_json() for cell in cells]
    if form == "json":
        return emit_json(rows)
    if form == "csv":
        return emit_csv(rows)
    keys = ("id", "printed", "dataset", "measure", "role")
    lines = [[*(r[key] or "" for key in keys), r["recipe"] or "–"] for r in rows]
    head = ["cell", "published", "dataset", "measure", "role", "recipe"]
    table(count_in_words(cells), head, lines, right=(1,))
