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
    by a reading; anything else is a failure, and so is a statement that the plan does not follow.
    """
    from repro.api.statements import settings
    from repro.cli.printing import emit_json

    found = [item for item in settings(*names) if _selected(item, tables, rows)]
    if not found and (tables or rows):
        raise UsageError("nothing is planned in what is selected; `repro settings PAPER` shows all there is")
    failures = [item for item in found if item.fails]
    shown = failures if failing else found
    if as_json:
        emit_json([item.as_json() for item in shown])
    else:
        _print(shown, Counter(item.state for item in found))
    return int(strict and bool(failures))


def _selected(item, tables, rows) -> bool:
    _, table, *row = [*item.row.split("/"), ""]
    of_table = not tables or table.removeprefix("figure-") in {t.removeprefix("figure-") for t in tables}
    return of_table and (not rows or row[0] in rows or row[0].rpartition(".")[2] in rows)


def _print(found, counts) -> None:
    """A table for every step; rows of which the same is true share a line."""
    from repro.cli.printing import table

    steps: dict[str, dict[tuple, list[str]]] = {}
    for item in found:
        heading = f"{item.row.partition('/')[0]}: {item.step or f'{item.stage}, not in settings.yaml'}"
        line = (item.parameter, *map(_told, (item.published, item.released, item.planned)), _verdict(item))
        steps.setdefault(heading, {}).setdefault(line, []).append(item.row)
    head = ["parameter", "published", "released", "planned", "verdict", "rows"]
    for heading, lines in steps.items():
        table(heading, head, [[*line, _places(places)] for line, places in lines.items()])
    print(", ".join(f"{number} {state}" for state, number in counts.items()) or "nothing is planned")


def _told(value) -> str:
    from repro.graph import canonical

    if value is None or isinstance(value, str):
        return value or ""
    return canonical(value)


def _verdict(item) -> str:
    said = {"departs": f"departs by {item.reading}", "unspecified": f"unspecified: {item.reading}"}
    return f"failure: {item.says}" if item.fails else said.get(item.state, item.state)


def _places(places: list[str]) -> str:
    names = [place.partition("/")[2] for place in dict.fromkeys(places)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
