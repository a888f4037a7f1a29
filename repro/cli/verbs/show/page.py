"""``repro show``"""

import click

from repro.cli import completion
from repro.cli.options import FIGURE, json_option
from repro.cli.verbs.show import papers
from repro.errors import UsageError


@click.command("page")
@click.argument("what", metavar="[PAPER|CELL]", required=False, shell_complete=completion.papers_and_cells)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="N",
    shell_complete=completion.tables,
    help="A table, or figure-N, as published; may be repeated.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="All of a cell's unspecified choices, not the weightiest."
)
@json_option
def command(what, tables, verbose, as_json):
    """Show papers, a table as published, or everything known about one cell.

    Of a cell: what was measured, the verdict, the command that measures it, and the unspecified choices that
    its number rests on.
    """
    if what is None:
        if tables or verbose:
            raise UsageError("--table and --verbose are of a paper or a cell; name one")
        return papers.show(as_json=as_json)
    name, _, number = what.partition("/")
    if number and tables:
        raise UsageError("what has a path is named by it alone; leave --table out")
    if "/" in number:
        return _show_cell(what, as_json, verbose)
    return _show_paper(name, (number,) if number else tables, as_json)


def _show_paper(name: str, tables: tuple[str, ...], as_json: bool) -> None:
    from repro.cli.printing import emit_json
    from repro.manifest.cells import figure_of, table_of
    from repro.manifest.papers import paper

    source = paper(name)
    shown_tables = [table_of(source, t) for t in tables if not t.startswith(FIGURE)]
    shown_figures = [figure_of(source, t.removeprefix(FIGURE)) for t in tables if t.startswith(FIGURE)]
    if not tables:
        shown_tables, shown_figures = [*source.manifest.tables], [*source.manifest.figures]
    if as_json:
        return emit_json([e.model_dump(mode="json", by_alias=True) for e in [*shown_tables, *shown_figures]])
    for table in shown_tables:
        _show_table(source, table)
    for figure in shown_figures:
        _show_figure(source.name, figure)


def _show_figure(name: str, figure) -> None:
    print(f"{name} figure {figure.id}: {figure.about}\n  x: {figure.x}\n  y: {figure.y}")
    for line in figure.series:
        print(f"  series: {line}")
    for setting, value in figure.settings.items():
        print(f"  {setting}: {value}")


def _show_table(source, table) -> None:
    from repro.cli.printing import show
    from repro.manifest.cells import cells_of
    from repro.writers.grid import meaning
    from repro.writers.terminal import printed_table

    if table.entries:
        return _show_examples(source.name, table)
    cells = cells_of(source, (table,))
    if table.kind == "study":
        return _show_study(source.name, table)
    show(printed_table(source.name, table, cells))
    for sign, mark in table.marks.items():
        print(f"{sign} {meaning(mark)}")


def _show_study(name: str, table) -> None:
    """Print what a study, of which nothing is published, compares, and what shows its measurements."""
    from rich.text import Text

    from repro.cli.printing import show
    from repro.running.scale import known_scales
    from repro.running.workspace import Workspace

    show(Text(f"{name} table {table.id}: {table.about}"))
    show(Text(f"rows: {'; '.join(row.label for row in table.rows)}"))
    show(Text(f"columns: {'; '.join(column.label for column in table.columns)}"))
    results, place = Workspace.open().results, f"{name}/{table.id}/"
    scales = [s for s in known_scales() if any(r.cell.startswith(place) for r in results.read(s, name))]
    print("what was measured:" if scales else "nothing of it is measured yet:")
    for scale in scales or ["SCALE"]:
        print(f"  repro {'compare' if scales else 'run'} {name} --table {table.id} --scale {scale}")


def _show_examples(name: str, table) -> None:
    print(f"{name} table {table.id}: {table.about}")
    for entry in table.entries:
        print(f"  query: {entry.query}" if entry.query else f"  {entry.note}")
        for ranking in entry.shown:
            relevant = {True: "relevant", False: "not relevant", None: ""}[ranking.relevant]
            print(f"    {ranking.system}: rank {ranking.rank} {relevant}")


def _show_cell(identifier: str, as_json: bool, verbose: bool) -> None:
    from repro.cli.cell_page import CellPage
    from repro.cli.printing import emit_json
    from repro.manifest.cells import cell
    from repro.running.workspace import Workspace

    page = CellPage.of(cell(identifier), Workspace.open())
    if as_json:
        return emit_json(page.as_json())
    page.show(verbose=verbose)
