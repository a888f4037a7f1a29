"""``repro list``"""

import click

from repro.cli.printing import emit_json, table
from repro.manifest.cells import cells_of
from repro.manifest.papers import papers


@click.command("list", epilog="\b\nExamples:\n  repro list\n  repro list --json")
@click.option("--json", "as_json", is_flag=True, help="One object per table or figure.")
def command(as_json):
    """List papers, tables and figures with their numbers of cells.

    "recipe" counts the numeric cells that a recipe can measure today.
    """
    rows = [row for source in papers().values() for row in _entries(source)]
    if as_json:
        return emit_json(rows)
    for source in papers().values():
        manifest = source.manifest
        own = [r for r in rows if r["paper"] == source.name]
        table(
            f"{source.name}: {manifest.title} ({manifest.venue})",
            ["", "kind", "cells", "recipe", "about"],
            [[r["what"], r["kind"], str(r["cells"] or ""), str(r["recipe"] or ""), r["about"]] for r in own],
        )


def _entries(source):
    for item in source.manifest.tables:
        cells = [c for c in cells_of(source, (item,)) if c.is_numeric]
        yield {
            "paper": source.name,
            "what": f"table {item.id}",
            "kind": item.kind,
            "cells": len(cells),
            "recipe": sum(bool(c.recipe) for c in cells),
            "about": item.about,
        }
    for item in source.manifest.figures:
        yield {
            "paper": source.name,
            "what": f"figure {item.id}",
            "kind": "figure",
            "cells": 0,
            "recipe": int(item.is_measured),
            "about": item.about,
        }
