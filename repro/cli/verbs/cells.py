"""``repro cells``"""

import click

from repro.cli import completion
from repro.errors import UsageError


@click.command(
    "cells", epilog="\b\nExamples:\n  repro cells --paper PAPER --json\n  repro cells --csv > cells.csv"
)
@click.option(
    "--paper",
    "names",
    multiple=True,
    metavar="P",
    shell_complete=completion.paper_names,
    help="Only this paper; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="A list of objects.")
@click.option("--csv", "as_csv", is_flag=True, help="A table with a header line.")
@click.option("--all-kinds", is_flag=True, help="Dashes, words, hyper-parameters, examples and figures too.")
def command(names, as_json, as_csv, all_kinds):
    """List every numeric result cell of the papers, one a line."""
    from repro.cli.printing import emit_json, table

    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other")
    rows = _rows(names, all_kinds)
    if as_json:
        return emit_json(rows)
    if as_csv:
        return _print_csv(rows)
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
    from repro.manifest.entries import every_entry

    sources = [paper(name) for name in names or papers()]
    if all_kinds:
        return [row for source in sources for row in every_entry(source.source)]
    return [cell.as_json() for source in sources for cell in source.cells]


def _print_csv(rows: list[dict]) -> None:
    import csv
    import sys

    if not rows:
        return
    names = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: " | ".join(v) if isinstance(v, list) else v for k, v in row.items()})
