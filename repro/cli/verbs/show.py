"""``repro show``"""

import click

from repro.errors import UsageError


@click.command(
    "show",
    epilog="""\b
Examples:
  repro show PAPER --table 1
  repro show PAPER/1/bm25/dev.rr10
  repro show PAPER --figure 4""",
)
@click.argument("what", metavar="PAPER|CELL")
@click.option("--table", "tables", multiple=True, metavar="N", help="A table as published; may be repeated.")
@click.option("--figure", "figures", multiple=True, metavar="N", help="What a figure plots.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(what, tables, figures, as_json):
    """Show a table as published, or everything known about one cell."""
    if "/" in what:
        if tables or figures:
            raise UsageError("a cell is named by its path alone; leave --table and --figure out")
        return _cell(what, as_json)
    return _paper(what, tables, figures, as_json)


def _paper(name: str, tables: tuple[str, ...], figures: tuple[str, ...], as_json: bool) -> None:
    from repro.cli.printing import emit_json
    from repro.manifest.cells import figure_of, table_of
    from repro.manifest.papers import paper

    source = paper(name)
    shown = [table_of(source, t) for t in tables]
    plotted = [figure_of(source, f) for f in figures]
    if not shown and not plotted:
        shown, plotted = list(source.manifest.tables), list(source.manifest.figures)
    if as_json:
        return emit_json([item.model_dump(mode="json", by_alias=True) for item in [*shown, *plotted]])
    for table in shown:
        _table(source, table)
    for figure in plotted:
        _figure(source.name, figure)


def _figure(name: str, figure) -> None:
    print(f"{name} figure {figure.id}: {figure.about}\n  x: {figure.x}\n  y: {figure.y}")
    for line in figure.series:
        print(f"  series: {line}")
    for setting, value in figure.settings.items():
        print(f"  {setting}: {value}")


def _table(source, table) -> None:
    from repro.cli.printing import emit_lines, laid_out, show
    from repro.manifest.cells import cells_of
    from repro.report.grid import meaning
    from repro.report.terminal import printed_table

    if table.entries:
        return _examples(source.name, table)
    cells = cells_of(source, (table,))
    if not laid_out():
        return emit_lines(("cell", "published"), [(cell.id, cell.text) for cell in cells])
    show(printed_table(source.name, table, cells))
    for sign, mark in table.marks.items():
        print(f"{sign} {meaning(mark)}")


def _examples(name: str, table) -> None:
    print(f"{name} table {table.id}: {table.about}")
    for entry in table.entries:
        print(f"  query: {entry.query}" if entry.query else f"  {entry.note}")
        for shown in entry.shown:
            relevant = {True: "relevant", False: "not relevant", None: ""}[shown.relevant]
            print(f"    {shown.system}: rank {shown.rank} {relevant}")


def _cell(identifier: str, as_json: bool) -> None:
    from repro.cli.printing import emit_json
    from repro.locations import Locations
    from repro.manifest.cells import cell
    from repro.running.cell_readings import CellReadings

    chosen = cell(identifier)
    known = CellReadings(Locations.resolve().data)
    readings, more = known.of(chosen), known.under_other_choices(chosen)
    facts = chosen.as_json()
    facts["options"] = chosen.options
    facts["readings"] = list(readings)
    facts["readings under other choices"] = list(more)
    facts["note"] = chosen.row.note or chosen.column.note
    if chosen.column.dataset:
        facts |= _dataset(chosen.column.dataset)
    if as_json:
        return emit_json(facts)
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            print(f"{name + ': ':15}{', '.join(map(str, value)) if isinstance(value, list) else value}")
    for reading in (*readings.values(), *more.values()):
        print(f"\n{reading.id} ({reading.kind}, {reading.where}): {reading.paper}")
        print(f"  choices: {', '.join(reading.choices)}; default: {reading.default}")


def _dataset(identifier: str) -> dict:
    from repro.datasets.catalog import dataset

    entry = dataset(identifier)
    return {"judged": entry.judgements, "identical_ids": "ignored" if entry.ignore_identical_ids else "kept"}
