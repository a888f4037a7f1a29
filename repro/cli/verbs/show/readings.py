"""``repro show readings``"""

import click

from repro.cli import completion
from repro.cli.options import json_option

MOST, GPU = 10, "h100"  # of --decisive: so many, with the hours of this


@click.command(
    "readings",
    epilog="\b\nExamples:\n  repro show readings PAPER\n  repro show readings PAPER --decisive\n"
    "  repro show readings PAPER/1/ROW/COLUMN --kind conflict\n  repro show readings PAPER --citations\n"
    "  repro show readings PAPER --format json",
)
@click.argument("names", metavar="[PAPER|CELL]...", nargs=-1, shell_complete=completion.papers_and_cells)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="N",
    shell_complete=completion.tables,
    help="Behind this table or figure-N.",
)
@click.option("--kind", type=click.Choice(["silence", "conflict", "misprint", "data"]), help="Of this kind.")
@click.option("--decisive", is_flag=True, help="The ten that could move a published number most.")
@click.option("--citations", is_flag=True, help="What authors and others state outside of the paper.")
@json_option
def command(names, tables, kind, decisive, citations, as_json):
    """List what the papers leave open or contradict, the weightiest first, with the choices and the default.

    Switches come before notes, of which no choice changes anything that is planned. The order follows from
    the plan: what another choice changes first, how many published numbers it can decide, by what factor
    choices differ; only a measurement tells what a choice does. Take another with `repro run … --reading
    ID=CHOICE`; its result is never mixed with the default.
    """
    from repro.cli import weighed_readings
    from repro.cli.printing import emit_json

    papers, cells = ([n for n in names if ("/" in n) == is_cell] for is_cell in (False, True))
    groups = [
        group.limited(kind=kind, most=MOST if decisive else None)
        for group in weighed_readings.of_papers(papers, cells, tables)
    ]
    if as_json:
        return emit_json([item for group in groups for item in group.as_json()])
    for group in groups:
        if citations:
            group.show_citations()
        else:
            group.show(GPU if decisive else None)
