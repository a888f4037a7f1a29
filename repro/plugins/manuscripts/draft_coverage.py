"""The command ``repro show coverage FILE``: tables, read cells and open rows of a draft."""

import copy
from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path

import click

from repro.cli.printing import emit_json, put, say, table
from repro.cli.verbs import show
from repro.errors import UsageError
from repro.manifest.papers import papers
from repro.plugins.manuscripts import auditing, source_tables
from repro.plugins.manuscripts.checks.values import columns_of
from repro.plugins.manuscripts.draft import draft

HEAD = ("table", "place", "rows", "numbers", "not read", "open")
OF_DRAFTS = """

A FILE is the source of a paper, e.g. paper.tex: its tables with the numbers that `repro audit` reads and does
not read, and the columns and rows that a manifest leaves open."""

PARTS = copy.copy(show.coverage.params[0])
PARTS.metavar = "[PAPER|FILE]..."


@click.command(
    "coverage",
    help=cleandoc(show.coverage.help or "") + OF_DRAFTS,
    params=[PARTS, *show.coverage.params[1:]],
    epilog=f"{show.coverage.epilog}\n  repro show coverage paper.tex  the tables of a draft",
)
def command(names, form):
    """Count the measured and measurable cells of papers, or the cells of drafts."""
    files = [name for name in names if name not in papers() and Path(name).exists()]
    if files and len(files) < len(names):
        raise UsageError(f"{files[0]} is a draft. Name papers or drafts in one command, not both.")
    if not files:
        return click.get_current_context().invoke(show.coverage, names=names, form=form)
    made = [of_draft(auditing.audited(Path(file))) for file in files]
    if form == "json":
        return emit_json(made)
    for each in made:
        title = f"{each['source']}: {each['cells']:,} numbers are read, {each['unread']:,} cells are not"
        counts = [[len(v) if isinstance(v, list) else v for v in one.values()] for one in each["tables"]]
        table(title, HEAD, [list(map(str, row)) for row in counts], right=range(2, 6))
        parts = [part for one in each["tables"] for part in (*one["unread"], *one["open"])]
        for part in (*parts, *each["lost"]):
            put(f"{part['place']}: {part['text']}")
    return say("`repro new paper NAME --from FILE` drafts these tables, with a question per open part.")


def of_draft(made: auditing.Audited) -> dict:
    """Return the counts of a draft, e.g. ``{"tables": [{"read": 40, "unread": [], …}], "cells": 40, …}``."""
    drafted = {each.head.place: each for each in draft("draft", made.manuscript).tables}
    tables = []
    for number, source in enumerate(made.manuscript.tables, start=1):
        columns = list(columns_of(source))
        entries = drafted[source.place].entries() if source.place in drafted else ()
        unread = [(f"{cell.text!r} is not read", cell.place) for _, cells in columns for cell in cells]
        asked = [(f"{name} is open", each.place) for name, each in entries if each.is_asked and "," in name]
        counts = {"rows": len(source.body), "read": sum(len(read) for read, _ in columns)}
        place = {"table": source.number or str(number), "place": str(source.place)}
        tables.append({**place, **counts, "unread": _listed(unread), "open": _listed(asked)})
    totals = {"cells": made.cells, "unread": made.unread, "checked": made.looked_at}
    lost = _listed((text, place) for place, text in made.manuscript.lost)
    return {"source": str(made.manuscript.path), **totals, "tables": tables, "lost": lost}


def _listed(parts: Iterable[tuple[str, source_tables.Place]]) -> list[dict[str, str]]:
    return [{"text": text, "place": str(place)} for text, place in parts]
