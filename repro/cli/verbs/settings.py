"""``repro settings``"""

from collections import Counter

import click

from repro.cli import completion
from repro.errors import UsageError


@click.command(
    "settings",
    epilog="\b\nExamples:\n  repro settings PAPER\n  repro settings PAPER --table 1 --row SYSTEM\n"
    "  repro settings PAPER --failing --strict",
)
@click.argument("names", metavar="[PAPER]...", nargs=-1)
@click.option(
    "--table", "tables", multiple=True, metavar="N", shell_complete=completion.tables, help="May be repeated."
)
@click.option("--row", "rows", multiple=True, metavar="ID", help="A row, whole or without its group.")
@click.option("--failing", is_flag=True, help="Only what does not fit.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when something does not fit.")
@click.option("--json", "as_json", is_flag=True, help="One object per row and parameter.")
def command(names, tables, rows, failing, strict, as_json):
    """Hold the plan at scale full against the settings that text and released scripts state.

    Every planned parameter is as published, as released, departs by a reading, or is unspecified and filled
    by a reading; anything else is a failure, and so is a statement that the plan does not follow. Cells of
    the papers' own tables of settings have a verdict each.
    """
    from repro.api.statements import settings
    from repro.cli.printing import emit_json

    def within(place: str) -> bool:
        return bool(place) and _lies_in(place, tables, rows)

    found = [item for item in settings(*names) if within(item.row) or within(item.cell)]
    if not found:
        raise UsageError("nothing is planned in what is selected; `repro settings PAPER` shows all there is")
    failures = [item for item in found if item.fails]
    shown = failures if failing else found
    if as_json:
        emit_json([item.as_json() for item in shown])
    else:
        _print(shown, within)
        print(_counts(found))
    return int(strict and bool(failures))


def _print(shown, within) -> None:
    _print_steps(item for item in shown if item.row != item.cell and within(item.row))
    _print_cells(item for item in shown if within(item.cell))


def _counts(found) -> str:
    return ", ".join(f"{number} {state}" for state, number in Counter(item.state for item in found).items())


def _lies_in(place: str, tables, rows) -> bool:
    """Whether a row, exhibit or cell is in one of the tables or figures, and is or is in one of the rows."""
    _, table, row, *_ = [*place.split("/"), "", ""]
    numbers = {number.removeprefix("figure-") for number in tables}
    in_table = not tables or table.removeprefix("figure-") in numbers
    return in_table and (not rows or bool({row, row.rpartition(".")[2]} & set(rows)))


def _print_steps(items) -> None:
    """A table for every step, in which rows of which the same is true share a line."""
    from repro.cli.printing import table

    steps: dict[str, dict[tuple, list[str]]] = {}
    for item in items:
        line = (item.parameter, *map(_told, (item.published, item.released, item.planned)), item.verdict)
        steps.setdefault(_heading(item), {}).setdefault(line, []).append(item.row)
    head = ["parameter", "published", "released", "planned", "verdict", "rows"]
    for heading, lines in steps.items():
        table(heading, head, [[*line, _places(places)] for line, places in lines.items()])


def _print_cells(items) -> None:
    """A table of the cells of the papers' own tables of settings."""
    from repro.cli.printing import table
    from repro.judging.settings.parameter import of_cells
    from repro.manifest.cells import cell

    lines = [
        [place, cell(place).text, item.parameter, _told(item.planned), item.verdict]
        for place, item in of_cells(items).items()
    ]
    if lines:
        table("cells of tables of settings", ["cell", "published", "parameter", "planned", "verdict"], lines)


def _heading(item) -> str:
    named = item.step or (f"{item.stage}, not in settings.yaml" if item.stage else "stated, but no parameter")
    return f"{item.row.partition('/')[0]}: {named}"


def _told(value) -> str:
    from repro.graph import canonical

    if value is None or isinstance(value, str):
        return value or ""
    return canonical(value)


def _places(places: list[str]) -> str:
    names = [place.partition("/")[2] for place in dict.fromkeys(places)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
