"""``repro show cells``"""

from collections.abc import Iterator

import click

from repro.cli import completion
from repro.cli.options import format_option
from repro.manifest.cells import cells_of
from repro.manifest.papers import Paper


@click.command(
    "cells", epilog="\b\nExamples:\n  repro show cells PAPER\n  repro show cells --format csv > cells.csv"
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@format_option("csv", "json")
@click.option("--all-kinds", is_flag=True, help="Dashes, words, hyper-parameters, examples and figures too.")
def command(names, form, all_kinds):
    """List every numeric result cell of the papers, one a line."""
    from repro.cli.printing import emit_csv, emit_json, table

    rows = _rows(names, all_kinds)
    if form == "json":
        return emit_json(rows)
    if form == "csv":
        return emit_csv(rows)
    keys = ("id", "printed", "dataset", "measure", "role")
    lines = [[*(r[key] or "" for key in keys), r["recipe"] or "–"] for r in rows]
    head = ["cell", "published", "dataset", "measure", "role", "recipe"]
    title = f"{len(rows)} entries" if all_kinds else _title(names)
    table(title, head, lines, right=(1,))


def _title(names) -> str:
    from repro.api.papers import paper, papers
    from repro.manifest.cells import count_in_words

    return count_in_words(cell for name in names or papers() for cell in paper(name).cells)


def _rows(names, all_kinds: bool) -> list[dict]:
    from repro.api.papers import paper, papers

    sources = [paper(name) for name in names or papers()]
    if all_kinds:
        return [row for source in sources for row in every_entry(source.source)]
    return [cell.as_json() for source in sources for cell in source.cells]


_PLACE = "group row label column head dataset measure"
_NUMBER = "printed value decimals unit bold marks delta role grade recipe"
_EMPTY = dict.fromkeys(f"{_PLACE} {_NUMBER}".split()) | {"head": [], "printed": "", "marks": ""}


def every_entry(source: Paper) -> Iterator[dict]:
    """One object per cell of any kind, per example and per figure; keys as of ``Cell.as_json``."""
    for cell in cells_of(source):
        yield cell.as_json()
    for table in source.manifest.tables:
        for number, entry in enumerate(table.entries, 1):
            place = {"id": f"{source.name}/{table.id}/{number}", "paper": source.name, "table": table.id}
            yield {**place, **_EMPTY, "label": entry.query or table.about, "kind": table.kind}
    for figure in source.manifest.figures:
        place = {"id": f"{source.name}/figure-{figure.id}", "paper": source.name}
        yield {**place, "table": None, **_EMPTY, "label": figure.about, "kind": "figure"}
