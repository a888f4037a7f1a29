"""``repro show others``, and ``repro new value``."""

import sys
from pathlib import Path

import click

from repro.cli import completion
from repro.cli.options import json_option
from repro.cli.printing import put
from repro.errors import DataError
from repro.machine.bounded_reading import whole_file


@click.command(
    "others",
    epilog="""\b
Examples:
  repro show others
  repro show others PAPER
  repro show others CELL --format json
  repro show others -o DIR                  a page with a forest plot for each system""",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.papers_and_cells)
@click.option("--searches", is_flag=True, help="Where was looked for each system instead, and where in vain.")
@click.option(
    "-o", "--out", metavar="DIR", help="Write the page, its drawings and their numbers there instead."
)
@json_option
def command(names, searches, out, as_json):
    """List what others measured: toolkits, authors elsewhere, later papers, whoever tried.

    A line for every cell of which others state values, then how near those of each kind come to the
    published numbers. None is a a measurement of this suite, and decides no verdict.

    The page is of all papers: in how many cells the number comes back, where toolkits disagree and why, which
    systems nobody reproduced, and what was looked for. DIR holds it as others.html and as index.md.
    """
    from repro.plugins.reports.reports import reports

    _check_options(names, searches, out, as_json)
    if out is not None:
        return _write(out)
    if searches:
        return _show_searches(as_json)
    by_cell = {id: group for id, group in reports().items() if _is_chosen(id, names)}
    return _print_reports(by_cell, as_json)


def _print_reports(by_cell, as_json: bool) -> int:
    from repro.cli.printing import emit_json, say, table
    from repro.plugins.reports.others import HOW
    from repro.plugins.reports.quantities import COUNTS, OTHERS, join_quantities, nearnesses

    if as_json:
        emit_json([{"cell": id, **r.as_json()} for id, group in by_cell.items() for r in group])
        return 0
    if not by_cell:
        say("nobody else is known to state a value of these cells; --searches tells where was looked")
        return 0
    _print_cells(by_cell)
    makers = ("all", OTHERS, *HOW.values())
    lines = [line for line in nearnesses(join_quantities(by_cell)) if line.by in makers]
    rows = [
        [line.kind if line.by == "all" else f"– {line.by}", *map(str, line.counts), f"{line.size:.2f}"]
        for line in lines
    ]
    head = ["made how", *COUNTS, "median difference"]
    table(
        "how near they come, in percentage points; loose matches aside", head, rows, right=range(1, len(head))
    )
    return 0


def _check_options(names, searches, out, as_json) -> None:
    """Raise UsageError for an unknown name, and for options of which one would go unheard."""
    from repro.errors import UsageError

    _check_names(names)
    if out == "":
        raise UsageError("--out names no folder; give the one that the page goes into")
    if out is not None and any((names, searches, as_json)):
        raise UsageError("--out writes one page of all papers; give it without names and other options")
    if searches and names:
        raise UsageError("--searches lists every system; give it without names")


def _check_names(names) -> None:
    """Raise UsageError unless each is a paper or a cell."""
    from repro.errors import check_known
    from repro.manifest.cells import cell
    from repro.manifest.papers import papers

    for name in names:
        if "/" in name:
            cell(name)
        else:
            check_known("paper", name, valid=papers())


def _write(out: str) -> int:
    from pathlib import Path

    from repro.plugins.reports.content import document
    from repro.store import translated_errors

    with translated_errors(Path(out), "folder", "--out"):
        files = document().write(Path(out))
    print(f"{len(files)} files in {out}; open {Path(out) / 'others.html'}")
    return 0


def _print_cells(by_cell) -> None:
    from repro.cli.printing import table
    from repro.plugins.reports.others import HOW, others_values

    rows = []
    for values in filter(None, (others_values(group[0].cell) for group in by_cell.values())):
        closest = values.closest
        description = f"{values.shown} ({closest.source.name}, {HOW[closest.report.how.start]})"
        published = values.cell.printed.plain
        rows.append([values.cell.id, published, str(values.count), *values.ends, description])
    head = ["cell", "published", "values", "least", "most", "closest in kind"]
    table("", head, rows, right=range(1, 5), drop=(3, 4, 2))


def _is_chosen(id: str, names) -> bool:
    return not names or any(id == name or id.startswith(f"{name}/") for name in names)


def _show_searches(as_json: bool) -> int:
    from repro.cli.printing import emit_json, table
    from repro.plugins.reports.cell import in_words, run_places
    from repro.plugins.reports.quantities import published_cells, systems
    from repro.plugins.reports.reports import searches

    entries = [search for group in searches().values() for search in group]
    if as_json:
        emit_json([search.model_dump() for search in entries])
        return 0
    counts = {system.id: system.entries for system in systems()}
    places = run_places(published_cells())
    rows = [
        [
            s.id,
            str(counts.get(s.id, 0)),
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


LARGEST = 2**20  # bytes of a form, which are some thousands


@click.command(
    "value",
    epilog="""\b
Examples:
  repro new value form.md
  repro new value form.md --issue OWNER/NAME#12 --date 2026-11-22
  gh issue view 12 --json body -q .body | repro new value - --issue OWNER/NAME#12 --date 2026-11-22""",
)
@click.argument("file", metavar="FILE|-")
@click.option("--issue", metavar="OWNER/NAME#N", help="The issue: the place of a value without another.")
@click.option("--date", "day", metavar="DAY", help="When the issue was opened, as 2026-11-22.")
def new_value(file, issue, day):
    """Make an entry of others.yaml from the filled form "I measured a cell" of an issue.

    FILE is the Markdown that GitHub makes of the form, or - for standard input. The entry is checked as
    all of that file are, and printed with its place; nothing is written. Whatever is wrong is told in one
    sentence, with exit status 2.
    """
    from repro.plugins.reports.among_others import among_others
    from repro.plugins.reports.report_form import entry_of
    from repro.plugins.reports.reports import CellReport

    entry = entry_of(_text(file), issue=issue or "", day=day or "", where="the form" if file == "-" else file)
    print(entry.yaml)
    for cell in entry.cells:
        report = CellReport(cell, entry.report, entry.source)
        place = among_others(cell, report.value, decimals=report.decimals)
        sentence = place or f"published {cell.printed.plain}; nobody else is known to state a value"
        put(f"# {cell.id}: {sentence}")


def _text(file: str) -> str:
    """Return the content of a file or of standard input. Raises DataError where it is no text."""
    try:
        raw = sys.stdin.buffer.read(LARGEST) if file == "-" else whole_file(Path(file), LARGEST)
        return raw.decode("utf-8")
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{file}: not UTF-8 text") from None
