"""The command ``repro show coverage FILE``: tables, read cells and open rows of a draft."""

from inspect import cleandoc
from pathlib import Path

import click

from repro.cli.printing import emit_json, put, say, table
from repro.cli.verbs import show
from repro.manifest.papers import papers
from repro.plugins.manuscripts.auditing import Audited, audited
from repro.plugins.manuscripts.checks.values import columns_of
from repro.plugins.manuscripts.draft import TableDraft, draft
from repro.plugins.manuscripts.source_tables import SourceTable

HEAD = ("table", "in the source", "rows", "numbers", "not read", "open columns", "open rows")
OF_DRAFTS = """

A FILE is the source of a paper, e.g. paper.tex: its tables with the numbers that `repro audit` reads and does
not read, and the columns and rows that a manifest leaves open."""


@click.command(
    "coverage",
    help=cleandoc(show.coverage.help or "") + OF_DRAFTS,
    params=[*show.coverage.params],
    epilog=f"{show.coverage.epilog}\n  repro show coverage paper.tex  the tables of a draft",
)
def command(names, form):
    """Count measured and measurable cells, or the cells of drafts."""
    files = [name for name in names if name not in papers() and Path(name).exists()]
    if not files or len(files) < len(names):
        return click.get_current_context().invoke(show.coverage, names=names, form=form)
    made = [of_draft(audited(Path(file))) for file in files]
    if form == "json":
        return emit_json(made)
    for each in made:
        _print(each)
    return None


def of_draft(made: Audited) -> dict:
    """Return the counts of a draft, e.g. ``{"tables": [{"read": 40, "unread": [], …}], "cells": 40, …}``."""
    drafted = {each.head.place: each for each in draft("draft", made.manuscript).tables}
    sources = enumerate(made.manuscript.tables, start=1)
    tables = [_of_table(source, str(n), drafted.get(source.place)) for n, source in sources]
    lost = [{"text": text, "place": str(place)} for place, text in made.manuscript.lost]
    counts = {"cells": made.cells, "unread": made.unread, "checked": made.looked_at}
    return {"source": str(made.manuscript.path), "tables": tables, **counts, "lost": lost}


def _of_table(source: SourceTable, number: str, drafted: TableDraft | None) -> dict:
    columns = list(columns_of(source))
    entries = [*drafted.columns, *drafted.rows] if drafted else []
    names = [name for name, _ in drafted.entries()][-len(entries) :] if drafted else []
    named = [(name.partition(", ")[2], entry) for name, entry in zip(names, entries, strict=True)]
    return {
        "table": source.number or number,
        "place": str(source.place),
        "rows": len(source.body),
        "read": sum(len(read) for read, _ in columns),
        "unread": [{"text": c.text, "place": str(c.place)} for _, cells in columns for c in cells],
        "open": [{"entry": name, "place": str(entry.place)} for name, entry in named if entry.is_asked],
    }


def _print(made: dict) -> None:
    def row(each: dict) -> list[str]:
        kinds = [sum(entry["entry"].startswith(kind) for entry in each["open"]) for kind in ("column", "row")]
        counts = (each["rows"], each["read"], len(each["unread"]), *kinds)
        return [each["table"], each["place"], *map(str, counts)]

    title = f"{made['source']}: {made['cells']:,} numbers are read, {made['unread']:,} cells are not"
    table(title, HEAD, [row(each) for each in made["tables"]], right=range(2, 7))
    for each in made["tables"]:
        for cell in each["unread"]:
            put(f"{cell['place']}: {cell['text']!r} is not read")
        for entry in each["open"]:
            put(f"{entry['place']}: table {each['table']}, {entry['entry']} is open")
    for part in made["lost"]:
        put(f"{part['place']}: {part['text']}")
    say("`repro new paper NAME --from FILE` drafts these tables and asks about each open column and row.")
