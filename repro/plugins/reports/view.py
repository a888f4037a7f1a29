"""The command ``repro show others``, e.g. ``repro show others PAPER``."""

import click

from repro.cli import completion
from repro.cli.options import json_option


@click.command(
    "others",
    epilog="""\b
Examples:
  repro show others
  repro show others PAPER
  repro show others CELL --format json""",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.papers_and_cells)
@click.option("--searches", is_flag=True, help="Where was looked for each system instead, and where in vain.")
@json_option
def command(names, searches, as_json):
    """List what others measured: toolkits, authors elsewhere, later papers, whoever tried.

    A line for every cell of which others state values, then how near those of each kind come to the
    published numbers. None is a measurement of this suite, and decides no verdict.
    """
    from repro.errors import UsageError
    from repro.plugins.reports.reports import reports

    _check_names(names)
    if searches and names:
        raise UsageError("--searches lists every system; give it without names")
    if searches:
        return _show_searches(as_json)
    by_cell = {id: group for id, group in reports().items() if _is_chosen(id, names)}
    return _print_reports(by_cell, as_json)


def _print_reports(by_cell, as_json: bool) -> int:
    from repro.cli.printing import emit_json, say, table
    from repro.plugins.reports.nearness import COUNTS, nearnesses

    if as_json:
        emit_json([{"cell": id, **r.as_json()} for id, group in by_cell.items() for r in group])
        return 0
    if not by_cell:
        say("nobody else is known to state a value of these cells; --searches tells where was looked")
        return 0
    _print_cells(by_cell)
    rows = [[line.label, *map(str, line.counts), f"{line.size:.2f}"] for line in nearnesses(by_cell)]
    head = ["made how", *COUNTS, "median difference"]
    table(
        "how near they come, in percentage points; loose matches aside", head, rows, right=range(1, len(head))
    )
    return 0


def _check_names(names) -> None:
    from repro.errors import check_known
    from repro.manifest.cells import cell
    from repro.manifest.papers import papers

    for name in names:
        if "/" in name:
            cell(name)
        else:
            check_known("paper", name, valid=papers())


def _print_cells(by_cell) -> None:
    from repro.cli.printing import table
    from repro.hooks import MAKINGS, notes
    from repro.writers.grid import shown_note

    rows = []
    for cell in (group[0].cell for group in by_cell.values()):
        ordered = notes(cell)
        ends = [choose(ordered, key=lambda note: note.value) for choose in (min, max)]
        least, most, shown = (shown_note(note, cell) for note in (*ends, ordered[0]))
        description = f"{shown} ({ordered[0].label}, {MAKINGS[ordered[0].making]})"
        rows.append([cell.id, cell.printed.plain, str(len(ordered)), least, most, description])
    head = ["cell", "published", "values", "least", "most", "closest in kind"]
    table("", head, rows, right=range(1, 5), drop=(3, 4, 2))


def _is_chosen(id: str, names) -> bool:
    return not names or any(id == name or id.startswith(f"{name}/") for name in names)


def _show_searches(as_json: bool) -> int:
    from repro.cli.printing import emit_json, table
    from repro.plugins.reports.cell import in_words, run_places
    from repro.plugins.reports.reports import known_cells, searches

    entries = [search for group in searches().values() for search in group]
    if as_json:
        emit_json([search.model_dump() for search in entries])
        return 0
    counts = _counts({search.id for search in entries})
    places = run_places(cell for cell in known_cells().values() if cell.counted_as == "published")
    rows = [
        [
            s.id,
            str(counts[s.id]),
            in_words([place for place in places if place.search.id == s.id]),
            str(len(s.places)),
            "; ".join(s.in_vain),
            s.date,
        ]
        for s in sorted(entries, key=lambda search: search.id)
    ]
    head = ["system", "values", "cells by where a run is", "places", "in vain", "last look"]
    table("", head, rows, right=(1, 3))
    print(f"runs of others for the {len(places)} cells of these systems: {in_words(places)}")
    return 0


def _counts(systems) -> dict[str, int]:
    """Return system -> the number of its rows' values. A stage counts for the system of its group."""
    from repro.plugins.reports.reports import reports

    found: dict[str, set[int]] = {system: set() for system in systems}
    for group in reports().values():
        row = group[0].cell.row
        system = row.system if row.system in found else row.group
        if system in found:
            found[system] |= {id(value.report) for value in group}
    return {system: len(values) for system, values in found.items()}
