"""``repro show settings``"""

from functools import partial
from itertools import chain

import click

from repro.cli import completion
from repro.cli.options import json_option
from repro.errors import UsageError, check_known


@click.command(
    "settings",
    epilog="\b\nExamples:\n  repro show settings PAPER\n  repro show settings PAPER --table 1 --row SYSTEM\n"
    "  repro show settings PAPER --failing --strict",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1, shell_complete=completion.paper_names)
@click.option(
    "--table", "tables", multiple=True, metavar="N", shell_complete=completion.tables, help="May be repeated."
)
@click.option("--row", "rows", multiple=True, metavar="ID", help="A row, whole or without its group.")
@click.option("--failing", is_flag=True, help="Only what does not fit.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when something does not fit.")
@json_option
def command(names, tables, rows, failing, strict, as_json):
    """Hold the plan at scale full against the settings that text and released scripts state.

    Every planned parameter is as published, as released, departs by an unspecified choice, or is
    filled by one; anything else is a failure, and so is a statement that the plan does not follow. Cells of
    the papers' own tables of settings have a verdict each.
    """
    from repro.cli.printing import emit_json, say
    from repro.plugins.settings.parameter import counts

    is_selected = partial(_lies_in, tables=tables, rows=rows)
    parameters = _selected_parameters(names, tables, rows)
    failures = [item for item in parameters if item.fails]
    shown_parameters = failures if failing else parameters
    if as_json:
        emit_json([item.as_json() for item in shown_parameters])
    else:
        _print_tables(shown_parameters, is_selected)
        say(counts(parameters))
    return int(strict and bool(failures))


def _selected_parameters(names, tables, rows) -> list:
    from repro.plugins.settings.checked import settings

    parameters = list(settings(*names))
    if not parameters:
        raise UsageError(f"{', '.join(names)}: no settings.yaml says what a plan could be held against")
    _check_places(parameters, tables, rows)
    return [item for item in parameters if any(_lies_in(p, tables, rows) for p in (item.row, item.cell))]


def _check_places(parameters, tables, rows) -> None:
    """Raise UsageError for a table, figure or row that no setting is of."""
    places = [place for item in parameters for place in (item.row, item.cell) if place]
    exhibits = [table for table, _ in map(_parts, places) if table]
    numbers = (table.removeprefix("figure-") for table in exhibits)
    check_known("table or figure with settings", *tables, valid=dict.fromkeys(chain(exhibits, numbers)))
    ids = [
        row for table, row in map(_parts, filter(partial(_lies_in, tables=tables, rows=()), places)) if row
    ]
    systems = (row.rpartition(".")[2] for row in ids)
    check_known("row with settings", *rows, valid=dict.fromkeys(chain(ids, systems)))


def _print_tables(parameters, is_selected) -> None:
    from repro.plugins.settings import row_settings

    row_settings.print_steps(item for item in parameters if item.row != item.cell and is_selected(item.row))
    row_settings.print_cells(item for item in parameters if is_selected(item.cell))


def _parts(place: str) -> tuple[str, str]:
    """The exhibit and the row that a place names, where it names them."""
    _, table, row, *_ = [*place.split("/"), "", ""]
    return table, row


def _lies_in(place: str, tables, rows) -> bool:
    """Whether a row, exhibit or cell is in one of the tables or figures, and is or is in one of the rows."""
    table, row = _parts(place)
    numbers = {number.removeprefix("figure-") for number in tables}
    in_table = not tables or table.removeprefix("figure-") in numbers
    return bool(place) and in_table and (not rows or bool({row, row.rpartition(".")[2]} & set(rows)))
