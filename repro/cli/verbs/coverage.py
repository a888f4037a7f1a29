"""``repro coverage``"""

from __future__ import annotations

import click


@click.command(
    "coverage", epilog="\b\nExamples:\n  repro coverage\n  repro coverage PAPER -v\n  repro coverage --json"
)
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option("-v", "--verbose", is_flag=True, help="Say why each of the rest cannot be measured.")
@click.option("--json", "as_json", is_flag=True, help="One object per table or figure, with its cells.")
@click.option("--results", metavar="DIR", help="Where records lie (REPRO_RESULTS).")
def command(names, verbose, as_json, results):
    """Count what is measured, what could be and how, and what cannot.

    Every number of a result table, every point of a figure and every view is counted once, by the strongest
    way there is: a recipe that trains it, a released checkpoint, an imported run, computed, not measurable.
    Between the rules are scales with a record or drawing of it. Words and settings are counted apart.
    """
    from repro.cli.printing import emit_json
    from repro.locations import Locations
    from repro.manifest.papers import paper, papers
    from repro.store.results import Results

    kept = Results(Locations.resolve(results=results).results)
    rows = [row for name in names or papers() for row in _places(paper(name), kept)]
    if as_json:
        return emit_json(rows)
    scales = _scales(rows)
    for name in dict.fromkeys(row["paper"] for row in rows):
        own = [row for row in rows if row["paper"] == name]
        _print(f"{name}: {paper(name).manifest.title}", [*own, _sum(own, "all")], scales)
        if verbose:
            _reasons(own)
    sums = [
        _sum([row for row in rows if row["paper"] == name], name)
        for name in dict.fromkeys(row["paper"] for row in rows)
    ]
    if len(sums) > 1:
        _print("all papers", [*sums, _sum(rows, "all")], scales)


def _places(source, results):
    """One object per table or figure, in printed order."""
    from repro.judging.coverage import WAYS, coverage, nothing_to_measure

    found = coverage(source, results)
    tables = {f"table {table.id}": table for table in source.manifest.tables}
    for what in (*tables, *(f"figure {figure.id}" for figure in source.manifest.figures)):
        cells = [c for c in found if c.place == what]
        measured = [scale for c in cells for scale in c.measured]
        yield {
            "paper": source.name,
            "what": what,
            "cells": len(cells),
            "ways": {way: sum(c.way == way for c in cells) for way in WAYS},
            "measured": {scale: measured.count(scale) for scale in dict.fromkeys(measured)},
            "nothing to measure": nothing_to_measure(tables[what], source) if what in tables else 0,
            "detail": [
                {"id": c.id, "way": c.way, "measured": c.measured, "recipe": c.recipe, "reason": c.reason}
                for c in cells
            ],
        }


def _scales(rows) -> list[str]:
    """full, small and tiny, and whatever other scale has been measured at."""
    others = {scale for row in rows for scale in row["measured"]} - {"full", "small", "tiny"}
    return ["full", "small", "tiny", *sorted(others)]


def _sum(rows, what) -> dict:
    def total(key):
        return {name: sum(row[key].get(name, 0) for row in rows) for row in rows for name in row[key]}

    numbers = {key: sum(row[key] for row in rows) for key in ("cells", "nothing to measure")}
    return {"what": what, "ways": total("ways"), "measured": total("measured"), **numbers}


def _print(title, rows, scales) -> None:
    from repro.cli.printing import table
    from repro.judging.coverage import WAYS

    head = ["", "cells", *WAYS, "│", *scales, "│", "nothing to measure"]
    lines = [
        [
            row["what"],
            *_numbers(row["cells"], *(row["ways"].get(way, 0) for way in WAYS)),
            "│",
            *_numbers(*(row["measured"].get(scale, 0) for scale in scales)),
            "│",
            *_numbers(row["nothing to measure"]),
        ]
        for row in rows
    ]
    table(title, head, lines, right=range(1, len(head)))


def _numbers(*values: int) -> list[str]:
    return [str(value or "–") for value in values]


def _reasons(rows) -> None:
    """A line for every row of a table that cannot be measured."""
    found: dict[tuple[str, str, str], int] = {}
    for row in rows:
        for cell in row["detail"]:
            if cell["reason"]:
                key = row["what"], cell["id"].split("/")[2], cell["reason"]
                found[key] = found.get(key, 0) + 1
    for (what, system, reason), count in found.items():
        print(f"{what}, {system}, {count} cell{'s' if count > 1 else ''}: {reason}")
    if found:
        print()
