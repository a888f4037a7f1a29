"""``repro show``, e.g. ``repro show PAPER --table 1``."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

import click

from repro.api import papers as published
from repro.cli import completion
from repro.cli.groups import views
from repro.cli.options import PAPERS, TABLE, format_option, json_option, repeatable_option, split_figures
from repro.cli.printing import emit_csv, emit_json, put, say, show, table
from repro.errors import UsageError
from repro.manifest.cells import cell, cells_of, count_in_words, every_cell, figure_of, table_of
from repro.manifest.papers import paper, papers
from repro.running.workspace import Workspace

command = views(
    "show",
    {
        "cells": "every numeric result cell",
        "readings": "the unspecified choices of a paper and their values",
        "coverage": "numbers of measured and measurable cells",
    },
    default="page",
    epilog="""\b
Examples:
  repro show                         papers, tables, figures
  repro show PAPER --table 1         a table as published
  repro show PAPER/1/bm25/dev.rr10   everything about a cell
  repro show readings PAPER          the unspecified choices
  repro show PAPER --table figure-4  the series of a figure""",
)


@command.command("page")
@click.argument("what", metavar="[PAPER|CELL]", required=False, shell_complete=completion.names)
@repeatable_option("table", "N", "Table or figure as published, e.g. 1 or figure-4 (repeatable).")
@click.option("-v", "--verbose", is_flag=True, help="List all readings of a cell.")
@json_option
def page(what, tables, verbose, as_json):
    """Show papers, a table as published, or a cell with its results, verdict, command and readings."""
    if what is None:
        if tables or verbose:
            raise UsageError("--table and --verbose need a paper or a cell")
        return _show_papers(as_json=as_json)
    name, _, number = what.partition("/")
    if number and tables:
        raise UsageError(f"{what} is a path and cannot be combined with --table")
    if "/" not in number:
        return _show_paper(name, (number,) if number else tables, as_json)
    from repro.cli.cell_page import CellPage

    page = CellPage.of(cell(what), Workspace.open())
    return emit_json(page.as_json()) if as_json else page.show(verbose=verbose)


def _show_paper(name: str, tables: tuple[str, ...], as_json: bool) -> None:
    source = paper(name)
    manifest, (numbers, others) = source.manifest, split_figures(tables)
    shown, figures = [*manifest.tables], [*manifest.figures]
    if tables:
        shown, figures = [table_of(source, n) for n in numbers], [figure_of(source, n) for n in others]
    if as_json:
        return emit_json([e.model_dump(mode="json", by_alias=True) for e in [*shown, *figures]])
    for each in shown:
        _show_table(source, each)
    for figure in figures:
        put(f"{name} figure {figure.id}: {figure.about}")
        lines = [("x", figure.x), ("y", figure.y), *(("series", line) for line in figure.series)]
        for setting, value in (*lines, *figure.settings.items()):
            put(f"  {setting}: {value}")


def _show_table(source, table) -> None:
    from repro.writers.grid import meaning
    from repro.writers.terminal import printed_table

    if table.entries:
        return _show_examples(source.name, table)
    cells = cells_of(source, (table,))
    if table.kind == "study":
        return _show_study(source.name, table)
    show(printed_table(source.name, table, cells))
    for sign, mark in table.marks.items():
        put(f"{sign} {meaning(mark)}")


def _show_study(name: str, table) -> None:
    show(f"{name} table {table.id}: {table.about}")
    show(f"rows: {'; '.join(row.label for row in table.rows)}")
    show(f"columns: {'; '.join(c.label for c in table.columns)}")
    print(f"results: `repro compare {name} --table {table.id} --scale SCALE`")


def _show_examples(name: str, table) -> None:
    put(f"{name} table {table.id}: {table.about}")
    for entry in table.entries:
        put(f"  query: {entry.query}" if entry.query else f"  {entry.note}")
        for ranking in entry.shown:
            relevant = {True: "relevant", False: "not relevant", None: ""}[ranking.relevant]
            put(f"    {ranking.system}: rank {ranking.rank} {relevant}")


HEAD = ("what", "kind", "cells", "recipe", "about")


def _show_papers(*, as_json: bool) -> None:
    rows = {source: list(_entries(source)) for source in published.papers().values()}
    if as_json:
        names = ("paper", *HEAD)
        return emit_json([dict(zip(names, (s.name, *r), strict=True)) for s in rows for r in rows[s]])
    for source, entries in rows.items():
        title = f"{source.name}: {source.title} ({source.source.manifest.venue})"
        lines = [[*(str(v or "") for v in values), about.partition(". ")[0]] for *values, about in entries]
        table(f"{title}, {_count_cells([source])}", ["", *HEAD[1:]], lines)
    say(f"{_count_cells(rows)}.")


def _count_cells(sources: Iterable[published.PublishedPaper]) -> str:
    return count_in_words(cell for source in sources for cell in every_cell(source.source))


def _entries(source: published.PublishedPaper) -> Iterator[tuple]:
    for number, item in source.tables.items():
        cells = [c for c in item.cells if c.counted_as == "published"]
        recipes = sum(bool(c.recipe) for c in cells)
        yield f"table {number}", item.content.kind, len(cells), recipes, item.about
    for figure in source.source.manifest.figures:
        yield f"figure {figure.id}", "figure", 0, int(figure.is_measured), figure.about


@command.command(
    "cells", epilog="\b\nExamples:\n  repro show cells PAPER\n  repro show cells --format csv > cells.csv"
)
@PAPERS
@format_option("csv", "json")
def cells(names, form):
    """List every numeric result cell of the papers, one per line."""
    cells = [cell for name in names or papers() for cell in published.paper(name).cells]
    rows = [c.as_json() for c in cells]
    if form != "terminal":
        return (emit_json if form == "json" else emit_csv)(rows)
    head = ["cell", "published", "dataset", "measure", "role", "recipe"]
    table(count_in_words(cells), head, [_cell_line(row) for row in rows], right=(1,))


def _cell_line(row: dict) -> list[str]:
    keys = ("id", "printed", "dataset", "measure", "role")
    return [*(row[key] or "" for key in keys), row["recipe"] or "–"]


@command.command(
    "coverage",
    epilog="\b\nExamples:\n  repro show coverage\n"
    "  repro show coverage PAPER     with the reasons of cells that cannot be measured",
)
@PAPERS
@json_option
def coverage(names, as_json):
    """Count measured and measurable cells by paper and table.

    Each published number counts once, as the first of: training recipe, released checkpoint, imported
    run, computed, not measurable. Numbers after a plus have no published value, e.g. points of figures. The
    column settings counts the settings that are planned as published.
    """
    from repro.verdicts.coverage import refuse_open, tallies, total

    results = Workspace.open().results
    by_paper = {name: tallies(paper(name), results) for name in names or papers()}
    for name in names:
        refuse_open(paper(name), chain.from_iterable(tally.cells for tally in by_paper[name]))
    everything = list(chain.from_iterable(by_paper.values()))
    whole = total(everything, what="all")
    if as_json:
        return emit_json([tally.as_json() for tally in everything])
    _print_tables(by_paper, whole, with_reasons=bool(names))
    for name, rows in by_paper.items():
        _warn_of_open_cells(name, total(rows, what=name).ways["open"])
    measured = {c.id for c in whole.cells if "full" in c.measured}
    cells = chain.from_iterable(map(every_cell, map(paper, by_paper)))
    say(f"{count_in_words(cells, measured=measured, scale='full')}.")


def _warn_of_open_cells(name: str, count: int) -> None:
    from repro.verdicts.coverage import still_asked

    if count:
        say(f"{name}: {count} cells are open. `repro show coverage {name}` lists the rows.")
    if asked := still_asked(paper(name)):
        say(f"{name}: open questions: {', '.join(asked)}")


def _print_tables(by_paper, grand_total, *, with_reasons: bool) -> None:
    from repro.verdicts.coverage import total, usual_first

    scales = usual_first({"full", "small", "tiny", *grand_total.measured})
    for name, rows in by_paper.items():
        _print_table(f"{name}: {paper(name).manifest.title}", [*rows, total(rows, what="all")], scales)
        if with_reasons:
            _print_reasons(rows)
    if len(by_paper) > 1:
        totals = [total(rows, what=name) for name, rows in by_paper.items()]
        _print_table("all papers", [*totals, grand_total], scales)


def _print_table(title, rows, scales) -> None:
    shown = rows[-1].ways_shown
    head = ["", "published cells", *shown, "│", *scales, "│", "settings", "nothing to measure"]
    lines = []
    for tally in rows:
        published, apart = tally.published, tally.apart
        ways = [_number_or_dash(published.ways[way], apart.ways[way]) for way in shown]
        counts = [_number_or_dash(published.measured[s], apart.measured[s]) for s in scales]
        cells = _number_or_dash(len(published.cells), len(apart.cells))
        number = tally.settings.total()
        settings = f"{tally.settings['as published']} of {number}" if number else "–"
        lines.append([tally.what, cells, *ways, "│", *counts, "│", settings, _number_or_dash(tally.idle)])
    table(title, head, lines, right=range(1, len(head)))


def _number_or_dash(published: int, apart: int = 0) -> str:
    return " ".join(filter(None, [str(published or ""), f"+{apart}" if apart else ""])) or "–"


def _print_reasons(rows) -> None:
    cells = [(tally.what, cell) for tally in rows for cell in tally.cells if cell.reason]
    reasons = Counter((exhibit, cell.id.split("/")[2], cell.reason) for exhibit, cell in cells)
    for (exhibit, system, reason), count in reasons.items():
        say(f"{exhibit}, {system}, {count} cell{'s' if count > 1 else ''}: {reason}")
    if reasons:
        print()


@command.command(
    "readings",
    epilog="\b\nExamples:\n  repro show readings PAPER\n"
    "  repro show readings PAPER/1/ROW/COLUMN --kind conflict\n  repro show readings PAPER --citations",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.names)
@TABLE
@click.option(
    "--kind", type=click.Choice(["silence", "conflict", "misprint", "data", "stated"]), help="Only this kind."
)
@click.option("--citations", is_flag=True, help="Show citations from outside the paper, e.g. of its code.")
@json_option
def readings(names, tables, kind, citations, as_json):
    """List the readings (unspecified choices) of papers with their choices and defaults, most used first.

    `repro run … --reading ID=CHOICE` takes another choice.
    """
    from repro.cli.readings import selected

    cells = [name for name in names if "/" in name]
    if cells and (tables or len(cells) < len(names)):
        raise UsageError(f"{cells[0]} is a cell and cannot be combined with papers or --table")
    groups = list(selected(names, cells, tables, kind))
    if as_json:
        return emit_json([item for group in groups for item in group.as_json()])
    for group in groups:
        group.show(citations=citations)
